"""Hold every closed form against what each release of transformers builds, from 4.40 to the newest.

    python -m benchmarks.compatibility [--configs 60] [--releases 4.57.6 5.1.0] [--write]

Each release is installed into a folder of its own, with what it needs beside torch, and put in front of what is
installed here; a process of its own draws configs of every class that the release has and compares tensor by tensor
(name, shape, tie, trainable). Prints families × releases as Markdown; exit status 1 where a class is off.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from random import Random

from pytest_bertsize.closed_forms import FAMILIES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "compatibility.md"
RELEASES = ("4.40.2", "4.44.2", "4.48.3", "4.51.3", "4.57.6", "5.1.0", "5.5.4", "5.10.4", "5.16.1", "5.20.2", "5.23.0")
TRIES = 4
"""As many configs are drawn for one that the library builds."""
BEGIN, END = "<!-- measured: compatibility -->", "<!-- end -->"


@dataclass(frozen=True, slots=True)
class Found:
    """The comparison of one class in one release."""

    family: str
    architecture: str
    state: str
    """``agree``, ``off`` or ``absent``."""
    configs: int = 0
    """Compared; those that the library refuses are not."""
    off: str = ""
    """Of the first config that differs, how."""
    refused: Mapping[str, int] | None = None
    """What the library, or the closed form, said to configs that were drawn in vain."""


def main() -> int:
    options = arguments()
    if options.sweep:
        for found in sweep(options.families or list(FAMILIES), options.configs):
            print(json.dumps(asdict(found)), flush=True)
        return 0
    folder = Path(options.environments or tempfile.mkdtemp(prefix="compatibility-"))
    for release in options.releases:
        if not options.report:
            install(release, folder / release)
            results(folder, release).write_text(swept(release, folder / release, options), "utf-8")
    columns = {release: read(results(folder, release)) for release in options.releases}
    page = "\n".join(lines(columns))
    print(page)
    if options.write:
        write(page)
    return 1 if any(found.state == "off" for column in columns.values() for found in column) else 0


def results(folder: Path, release: str) -> Path:
    return folder / f"{release}.jsonl"


def install(release: str, folder: Path) -> None:
    """Install a release and what it needs, unless the folder is there already; torch is the one that is here."""
    if not folder.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(folder)]
        subprocess.run([*command, f"transformers=={release}"], check=True)


def swept(release: str, folder: Path, options: argparse.Namespace) -> str:
    """Return what the process of one release prints."""
    print(f"transformers {release}", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "benchmarks.compatibility", "--sweep", "--configs", str(options.configs)]
    before = os.pathsep.join((str(folder), str(ROOT)))
    alone = {"USE_TF": "0", "USE_FLAX": "0", "HF_HUB_OFFLINE": "1", "PYTHONPATH": before}
    done = subprocess.run(
        [*command, *options.families], env={**os.environ, **alone}, cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    return done.stdout.decode()


def read(path: Path) -> list[Found]:
    return [Found(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


# in the process of a release


def sweep(families: Sequence[str], configs: int) -> Iterator[Found]:
    """Every class of the families, in the release that is imported here."""
    import transformers

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    for family in families:
        for architecture in FAMILIES[family].architectures:
            there = hasattr(transformers, architecture.name)
            yield compared(family, architecture.name, configs) if there else Found(family, architecture.name, "absent")


def compared(family: str, architecture: str, configs: int) -> Found:
    """Draw until so many configs are compared; a class that refuses three of four is off."""
    from tests.support.family_configs import drawn, mismatch

    refused: Counter[str] = Counter()
    off, count = "", 0
    for number in range(TRIES * configs):
        if count == configs:
            break
        case = drawn(family, architecture, Random(f"{architecture} {number}"))  # noqa: S311
        try:
            difference = mismatch(case)
        except Exception as error:  # noqa: BLE001  (whatever a class says to a config)
            refused[f"{type(error).__name__}: {error}".split("\n")[0][:150]] += 1
            continue
        count += 1
        off = off or difference[:500]
    state = "off" if off or count < configs else "agree"
    return Found(family, architecture, state, count, off, dict(refused.most_common(3)))


# the page


def lines(columns: Mapping[str, Sequence[Found]]) -> Iterator[str]:
    """Yield a table of the releases, with the classes that each lacks, then every class that is off."""
    today = dt.datetime.now(dt.UTC).date()
    torch = metadata.version("torch").partition("+")[0]
    yield f"{today}, torch {torch}.\n"
    yield "| transformers | classes that agree | off | classes that it lacks |"
    yield "| --- | --: | --: | --- |"
    for release, column in columns.items():
        states = Counter(found.state for found in column)
        yield f"| {release} | {states['agree']} | {states['off']} | {', '.join(list_absent(column)) or 'none'} |"
    for release, column in columns.items():
        yield from (f"\n{found.architecture} is off in {release}: {found.off}" for found in column if found.off)


def list_absent(column: Sequence[Found]) -> Iterator[str]:
    """Yield the families that a release lacks, then the classes that it lacks of other families."""
    families = list(dict.fromkeys(found.family for found in column))
    there = {found.family for found in column if found.state != "absent"}
    yield from (f"`{family}`" for family in families if family not in there)
    yield from (found.architecture for found in column if found.state == "absent" and found.family in there)


def write(page: str) -> None:
    """Replace what is generated in the documentation."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{page}\n\n{END}{rest.partition(END)[2]}", "utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="closed forms against what each release of transformers builds")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="model_type; all of them unless given")
    parser.add_argument("--configs", type=int, default=60, help="of each class in each release (default: 60)")
    parser.add_argument("--releases", nargs="+", default=RELEASES, metavar="X.Y.Z", help="default: %(default)s")
    parser.add_argument("--environments", metavar="DIR", help="where they are installed, and results kept")
    parser.add_argument("--report", action="store_true", help="print the results that DIR has, without another sweep")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)} as well")
    parser.add_argument("--sweep", action="store_true", help="compare with the release that is installed here, as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
