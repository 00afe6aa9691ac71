"""A config that is named: by a place in settings, or by a text in a module; and code, which is not read for one."""

from __future__ import annotations

import io
import re
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.console import GOOD
from pytest_bertsize.config.source import read
from pytest_bertsize.review.check import conclude_unbuilt
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import Settings, load
from tests.conftest import TINY
from tests.support.git_projects import FITS, committed
from tests.support.starting_projects import lay

if TYPE_CHECKING:
    from pytest_bertsize.review.review import Review

BASE, LARGE = 109_482_240, 335_141_888
"""BertModel of bert-base-uncased and of bert-large-uncased, as built by transformers (docs/explanation/counting.md)."""


def declared(root: Path, config: str, **files: Any) -> Settings:
    table = f'[tool.bertsize.models.m]\nconfig = "{config}"\narchitecture = "BertModel"\nbudget = "report-only"\n'
    return load(lay(root, **{"pyproject.toml": table, **files}) / "pyproject.toml")


def review(settings: Settings) -> Review:
    return conclude_unbuilt(examine(settings.models["m"], settings, Registry()))


def refused(settings: Settings) -> str:
    (finding,) = review(settings).errors
    return finding.sentence


# names


@pytest.mark.parametrize(
    ("file", "text", "config"),
    [
        ("conf/encoder.yaml", "encoder:\n  model: bert-base-uncased\n", "conf/encoder.yaml#encoder.model"),
        ("conf/encoder.toml", 'model = "bert-base-uncased"', "conf/encoder.toml#model"),
        ("sizes.py", 'MODEL = "bert-base-uncased"\n', "sizes:MODEL"),
        ("sizes.py", 'CFG = {"model": {"name": "bert-base-uncased"}}\n', "sizes:CFG#model.name"),
    ],
)
def test_a_name_in_settings_or_in_a_module_is_followed(tmp_path: Path, file: str, text: str, config: str) -> None:
    found = review(declared(tmp_path, config, **{file: text}))
    assert (found.expected and found.expected.unique, found.errors) == (BASE, ())
    (note,) = [each.message for each in found.findings if each.kind == "published-config"]
    assert note.startswith(f"the published config {config} is from the catalogue (")
    assert note.endswith('by the name "bert-base-uncased"')
    found = review(declared(tmp_path, config, **{file: text.replace("base", "large")}))
    assert found.expected
    assert found.expected.unique == LARGE


def test_a_name_that_hub_maps_to_a_file_is_told_without_being_asked_for(tmp_path: Path) -> None:
    settings = declared(tmp_path, "bert-large-uncased", **{"tiny.json": TINY})
    hub = '[tool.bertsize]\nhub = { "bert-large-uncased" = "tiny.json" }\n'
    settings.path.write_text(hub + settings.path.read_text("utf-8"), "utf-8")
    out = io.StringIO()
    assert check(tmp_path, None, out=out) == GOOD
    said = "m: the published config bert-large-uncased is from tiny.json, by hub in pyproject.toml"
    assert said in " ".join(out.getvalue().split())


@pytest.mark.parametrize("name", ["conf", "conf/config.json"])
def test_a_module_may_name_a_file_or_a_folder_of_the_project(tmp_path: Path, name: str) -> None:
    settings = declared(tmp_path, "sizes:MODEL", **{"sizes.py": f"MODEL = {name!r}\n", "conf/config.json": TINY})
    config = read(settings.models["m"], settings)
    assert (config.data, config.reference, config.origin) == (TINY, "conf/config.json", f'"{name}"')


NO_CONFIG = '{{place}}: it is "{}", which names no config; name a place that has a config'.format


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("acme/nowhere", 'pyproject.toml:2: {place} is "acme/nowhere": "acme/nowhere" is not a file, and neither *'),
        (
            "../config.json",
            '../config.json: {place} is "../config.json": the config lies outside the project; copy it *',
        ),
        ("conf/m.json#x", NO_CONFIG("conf/m.json#x")),
        ("", NO_CONFIG("")),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_its_place(tmp_path: Path, name: str, sentence: str) -> None:
    files = {"conf/m.json": {"model": name}, "sizes.py": f"MODEL = {name!r}\n", "config.json": TINY}
    for place in ("conf/m.json#model", "sizes:MODEL"):
        assert fnmatchcase(refused(declared(tmp_path, place, **files)), sentence.format(place=place))


# code

WAYS_OUT = {
    "train.py": "train:NAME",
    "train.py#BertConfig": "train:NAME",
    "acme/sizes.py:SMALL": "acme.sizes:SMALL",
    "src/acme/sizes.py#SMALL": "acme.sizes:SMALL",
    "acme/__init__.py#SMALL": "acme:SMALL",
    "TRAIN.PY#SMALL": "module:NAME",
    "setup.cfg#model": "module:NAME",
}


def test_a_place_in_code_is_refused_with_the_module_that_runs_it(tmp_path: Path) -> None:
    """Python says a size and runs another in more ways than a reader follows: ``parse_known_args``, ``exec``, …."""
    for config, way_out in WAYS_OUT.items():
        suffix = PurePosixPath(re.split("[#:]", config)[0]).suffix.lower()
        assert refused(declared(tmp_path, config)) == (
            f'pyproject.toml:2: "{config}" names a {suffix} file, and only a run knows its config; write '
            f'config = "{way_out}" to run it, or the name of the config on the hub, or a factory'
        )


def test_a_base_whose_table_names_code_is_said_and_its_limits_hold(tmp_path: Path) -> None:
    project = committed(tmp_path, TINY, FITS.replace("config.json", "train.py#SMALL"))
    project.declare(FITS.replace("90K", "95K"))
    why = '"train.py#SMALL" names a .py file, and only a run knows its config'
    assert f"at main it cannot be counted: {why}" in project.said()
    (error,) = project.errors()
    assert error.startswith("pyproject.toml:5: the limit of total was 90K at main and is 95K now, 5,000 more; ")
