"""A jsonnet file: what its own library makes of it, in a process of its own, or one sentence."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.config.jsonnet import ABSENT, INSTALL, parse
from pytest_bertsize.config.source import read_file
from pytest_bertsize.findings import Finding, Unusable

if TYPE_CHECKING:
    from pathlib import Path

SAYS_WHAT_IT_IMPORTS = """
import json

def evaluate_snippet(name, text, import_callback):
    if text.startswith("import "):
        found, text = import_callback(name.rpartition("/")[0], text[len("import "):])
    if text.startswith("error "):
        raise RuntimeError(f"runtime error: {text[len('error '):]}\\n    {name}:(2:3)-(2:9)\\n")
    return text
"""
"""As rjsonnet 0.5 and google/jsonnet 0.21 are called, and what the first says of a mistake."""


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the process imports from before any other."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path, libraries: Path) -> Path:
    (libraries / "rjsonnet.py").write_text(textwrap.dedent(SAYS_WHAT_IT_IMPORTS), encoding="utf-8")
    (tmp_path / "project/lib").mkdir(parents=True)
    (tmp_path / "secret").write_text('{"a": 1}', encoding="utf-8")
    (tmp_path / "project/lib/base.libsonnet").write_text('{"model": {"hidden_size": 48}}', encoding="utf-8")
    return tmp_path / "project"


def refused(folder: Path, text: str) -> Finding:
    (folder / "m.jsonnet").write_text(text, encoding="utf-8")
    with pytest.raises(Unusable) as unusable:
        read_file(folder, "m.jsonnet")
    (finding,) = unusable.value.findings
    return finding


def test_a_file_is_what_it_evaluates_to(project: Path) -> None:
    (project / "m.jsonnet").write_text("import lib/base.libsonnet", encoding="utf-8")
    config = read_file(project, "m.jsonnet#model")
    assert (config.data, config.reference, config.line("hidden_size")) == ({"hidden_size": 48}, "m.jsonnet#model", None)
    before = config.sha256
    (project / "lib/base.libsonnet").write_text('{"model": {"hidden_size": 49}}', encoding="utf-8")
    assert read_file(project, "m.jsonnet#model").sha256 != before, "of what it imports as well"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("error x is none", "not jsonnet: runtime error: x is none"),
        ("import ../secret", "not jsonnet: it imports ../secret, which lies outside the project"),
        ("import nowhere", "not jsonnet: it imports nowhere, which is no file"),
        ("[1]", "the file holds a list, not an object"),
        ('{"a": 1e999}', "a is inf, which is no number"),
    ],
)
def test_what_is_no_config_is_told_in_a_sentence(project: Path, text: str, message: str) -> None:
    finding = refused(project, text)
    assert (finding.message, finding.file) == (message, "m.jsonnet")
    assert finding.line == (2 if text.startswith("error") else None)


def test_what_another_revision_imports_is_not_read(project: Path) -> None:
    with pytest.raises(Unusable, match=r"it imports lib/base\.libsonnet, which is not read at another revision"):
        parse(b"import lib/base.libsonnet", "m.jsonnet at main", "", None)
    assert parse(b'{"a": 1}', "m.jsonnet at main", "", None).data == {"a": 1}


def test_without_a_library_it_says_which(libraries: Path, tmp_path: Path) -> None:
    for name in ("rjsonnet", "_jsonnet"):
        (libraries / f"{name}.py").write_text("raise ImportError", encoding="utf-8")
    finding = refused(tmp_path, "{ hidden_size: 48 }")
    assert (finding.message, finding.fix) == (ABSENT, INSTALL)


@pytest.mark.tool
def test_the_library_evaluates_what_it_imports(tmp_path: Path) -> None:
    pytest.importorskip("rjsonnet")
    (tmp_path / "base.libsonnet").write_text("{ model_type: 'bert' }", encoding="utf-8")
    text = "local base = import 'base.libsonnet';\nbase { hidden_size: 24 * 2, hidden:: 1 }"
    (tmp_path / "m.jsonnet").write_text(text, encoding="utf-8")
    assert read_file(tmp_path, "m.jsonnet").data == {"model_type": "bert", "hidden_size": 48}
    assert (
        refused(tmp_path, "{\n a: error 'no' }").sentence
        == "m.jsonnet:2: not jsonnet: runtime error: no; correct the file"
    )
