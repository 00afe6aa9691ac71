"""Install a browser for the tests of pages: ``python tests/support/install_chromium.py``, before pytest.

Nothing is downloaded unless this runs as root where there is an apt-get; it never fails, the tests then say what is absent.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

ABSENT = (
    "Chromium or its driver is absent: install the Debian packages chromium and chromium-driver"
    " (apt-get install --no-install-recommends chromium chromium-driver)"
)


def found() -> list[str]:
    """Return the paths of a browser and its driver; none if one of the two is absent."""
    browsers = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    programs = (browsers, ("chromedriver", "chromium.chromedriver"))
    paths = [next(filter(None, map(shutil.which, names)), "") for names in programs]
    return paths if all(paths) else []


if __name__ == "__main__":
    APT = shutil.which("apt-get")
    if not found() and APT and os.geteuid() == 0:
        for arguments in ("update -q", "install -q -y --no-install-recommends chromium chromium-driver"):
            subprocess.run(
                [APT, *arguments.split()], check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            )
    sys.stdout.write(f"{' driven by '.join(found()) or ABSENT}\n")
