"""Find the config of a model on the hub by its name, without a network: in our catalogue, or the machine's hub cache.

The gate looks up the names in a table, the helper process those that code gives to ``from_pretrained``. A pull request
may write any name, so a name is never a path: it leads only to files in the catalogue or inside the cache.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pytest_bertsize.wording import nearest_to

# Repositories on the hub, each with its publisher, the values of its config that a count needs, and their source.
# ``status`` is ``hub`` if the values are in the hub's own file at ``revision``, as its git blob proves; ``publisher``
# if they are from the publisher's repository on GitHub; ``unverified`` if all ``copies`` found elsewhere have them.
CATALOGUE = Path(__file__).with_name("published.json")
LARGEST = 1024 * 1024  # bytes of a config; the largest published one has a few hundred KB of label names
CONFIG = "config.json"
BY_HUB = "by hub in pyproject.toml"  # the reason that a name means a file of the project
HUB_CACHE = "the hub cache"
MAIN = "main"  # the revision of a name without one
ADDED = (  # organisations that the hub added to older names, as in ``almanach/camembert-base``
    *("google-bert", "FacebookAI", "distilbert", "albert", "google", "google-t5", "openai-community", "xlnet"),
    *("almanach", "camembert"),
)
_WORD = r"[0-9A-Za-z_]+(?:[.-][0-9A-Za-z_]+)*"
_NAME = re.compile(rf"{_WORD}(?:/{_WORD})?")  # as the hub allows it (``validate_repo_id``), of any length
_REVISION = re.compile(_WORD)
_COMMIT = re.compile("[0-9a-f]{40}")
_LONGEST = 96  # characters of a name
_SUFFIXES = (".json", ".jsonl", ".yaml", ".yml", ".toml", ".jsonnet", ".libsonnet", ".py", ".cfg", ".ini")


class Found(NamedTuple):
    """A config as it was found, by the name of a model on the hub or as a file of the project."""

    name: str  # the name on the hub; of a file, the path that messages show
    config: bytes  # its content: JSON, or for a file what its suffix says
    origin: str = ""  # ``the hub cache, revision 86b5e0934494`` or the like; ``""`` if no name of the hub led to it
    folder: Path | None = None  # its other cached files
    by_hub: bool = False  # true if ``hub`` of the table names it


def is_name(text: str) -> bool:
    """Return whether a text can be a model's name on the hub, such as ``org/name``; a text like ``a.json`` cannot."""
    is_spelled = len(text) <= _LONGEST and _NAME.fullmatch(text) is not None
    return is_spelled and not text.lower().endswith(_SUFFIXES)


def normalize_name(name: str) -> str:
    """Return a name without its organisation, if that is in :data:`ADDED`; other names stay."""
    organisation, _, bare = name.rpartition("/")
    return bare if organisation in ADDED else name


def find_in(names: Iterable[str], name: str) -> str | None:
    """Return ``name`` if ``names`` has it, else the first of ``names`` that differs in its organisation alone."""
    same = [each for each in names if normalize_name(each) == normalize_name(name)]
    return name if name in same else next(iter(same), None)


def find_published(name: str, revision: str = MAIN) -> Found | None:
    """Look a name up in the catalogue, which has no revision but ``main``, else in the cache of this machine."""
    return (in_catalogue(name) if revision == MAIN else None) or in_cache(name, revision)


def in_catalogue(name: str) -> Found | None:
    if (found := _read_catalogue().get(normalize_name(name))) is None:
        return None
    full, said = found
    if said["status"] == "hub":
        status = f"revision {said['revision'][:12]}"
    elif said["status"] == "publisher":
        status = f"as in {said['sources'][0].partition(' ')[0]}"
    else:
        status = f"unverified: {said['copies']} copies agree" if said["copies"] > 1 else "an unverified copy"
    origin = f"the catalogue ({full} by {said['publisher']}, {status})"
    return Found(full, json.dumps(said["config"]).encode(), origin)


@cache
def _read_catalogue() -> dict[str, tuple[str, dict[str, Any]]]:
    said = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    return {normalize_name(name): (name, each) for name, each in said.items()}


def in_cache(name: str, revision: str = MAIN) -> Found | None:
    """Read a config that ``huggingface_hub`` cached on this machine; a symlink out of the model's folder is ignored."""
    if not is_name(name):
        return None
    bare = normalize_name(name)
    others = () if "/" in bare else (bare, *(f"{organisation}/{bare}" for organisation in ADDED))
    for spelled in dict.fromkeys((name, *others)):
        folder, commit = _find_cache() / f"models--{spelled.replace('/', '--')}", revision
        if _REVISION.fullmatch(revision) and not _COMMIT.fullmatch(revision):
            commit = (_read_inside(folder, folder / "refs" / revision) or b"").strip().decode("ascii", "replace")
        snapshot = folder / "snapshots" / commit
        if _COMMIT.fullmatch(commit) and (content := _read_inside(folder, snapshot / CONFIG)) is not None:
            return Found(spelled, content, f"{HUB_CACHE}, revision {commit[:12]}", snapshot)
    return None


def _find_cache() -> Path:
    """Find the hub cache as ``huggingface_hub.constants`` does: ``HF_HUB_CACHE``, else ``hub`` in ``HF_HOME``."""
    of_system = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")  # noqa: PTH118  (of a variable)
    home = os.environ.get("HF_HOME") or os.path.join(of_system, "huggingface")  # noqa: PTH118
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    return Path(os.path.expanduser(os.path.expandvars(named or os.path.join(home, "hub"))))  # noqa: PTH111, PTH118


def _read_inside(folder: Path, path: Path) -> bytes | None:
    """Read at most ``LARGEST`` + 1 bytes of a file; return ``None`` if the file is not in the folder."""
    try:
        real = path.resolve(strict=True)
        if folder.resolve() not in real.parents or not real.is_file():
            return None
        with real.open("rb") as stream:
            return stream.read(LARGEST + 1)
    except (OSError, RuntimeError, ValueError):
        return None


def suggest_fetching(name: str, revision: str | None = None) -> tuple[str, str]:
    """Return a command that fetches a config, and the whole advice; ``revision`` is one other than ``main``."""
    near = nearest_to(name, _read_catalogue(), cutoff=0.9)
    meant = f'did you mean "{near}"? If not, ' if near and not revision and near != name else ""
    at, option = (f"@{revision}", f" --revision {revision}") if revision else ("", "")
    folder = f"configs/{name.rpartition('/')[2]}{at}"
    command = f"{meant}run hf download {name} {CONFIG}{option} --local-dir {folder}"
    key = f'hub = {{ "{name}{at}" = "{folder}/{CONFIG}" }} in [tool.bertsize]'
    return command, f"{command}, commit the file, and write {key}"
