"""Sees to it that the tests of the page have a browser: ``python tests/support/install_chromium.py``, before pytest.

Nothing is downloaded unless this runs as root where there is an apt-get; it never fails, the tests then say what is absent.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DRIVERS = ("chromedriver", "chromium.chromedriver")
ABSENT = (
    "Chromium or its driver is absent: install the Debian packages chromium and chromium-driver"
    " (apt-get install --no-install-recommends chromium chromium-driver)"
)


def found() -> tuple[str, str] | None:
    """Where the browser and its driver are; ``None`` where either is absent."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = next(filter(None, map(shutil.which, DRIVERS)), None)
    return (browser, driver) if browser and driver else None


def main() -> None:
    apt = shutil.which("apt-get")
    if found() is None and apt and os.geteuid() == 0:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            ["update", "-q"],
            ["install", "-q", "-y", "--no-install-recommends", "chromium", "chromium-driver"],
        ):
            if subprocess.run([apt, *command], check=False, env=environment).returncode:
                sys.stdout.write(f"apt-get {command[0]} failed\n")
                break
    where = found()
    sys.stdout.write(f"the page is tested in {where[0]}, driven by {where[1]}\n" if where else f"{ABSENT}\n")


if __name__ == "__main__":
    main()
