"""What was built by another transformers than the one whose metadata said what the closed form is asked about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_bertsize.builder.messages import Built
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.release import Release
from pytest_bertsize.review.check import conclude
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import parse

TABLE = '[tool.bertsize.models.x]\nconfig = "config.json"\nbudget = "report-only"\n'
CONFIG = {"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 2}


def errors(folder: Path, asked: Release, imported: str) -> list[str]:
    """Of a model that is built as its closed form says."""
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    settings = parse(TABLE, folder / "pyproject.toml")
    subject = examine(settings.models["x"], settings, Registry(release=asked))
    assert subject.expected is not None
    built = Built(tuple(subject.expected.tensors), {}, transformers=imported)
    found = conclude(subject, built)
    return [finding.sentence for finding in found.findings if finding.severity == "error"]


@pytest.mark.parametrize("imported", ["5.23.0", "5.23.4", "5.24.0.dev0", "6.1.0"])
def test_a_newer_release_than_the_newest_that_is_known_is_taken_to_be_like_it(tmp_path: Path, imported: str) -> None:
    assert errors(tmp_path, Release(5, 23), imported) == []


def test_another_one_is_an_error(tmp_path: Path) -> None:
    (error,) = errors(tmp_path, Release(4, 57, 6), "5.23.0")
    assert "transformers 5.23.0 has built it, and the closed form is that of 4.57.6" in error


def test_one_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    (error,) = errors(tmp_path, Release(4, 57, 6), "5.0.1")
    assert "transformers 5.0.1 loses ties on the meta device" in error
