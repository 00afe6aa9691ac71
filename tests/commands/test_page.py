"""``bertsize explain --page``: one file that counts what a model would be with other sizes, whole or not at all."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.closed_forms.all_sizes import follow_all_sizes
from pytest_bertsize.closed_forms.blocks import module
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.commands.named_model import explain_model
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from tests.conftest import BERT_BASE

if TYPE_CHECKING:
    from tests.commands.conftest import Bertsize

TABLE = """
[tool.bertsize.models.encoder]
config = "config.json"
budget.total = "110M"
budget.pooler = 0
budget.bytes = "440MB"
"""
HOSTILE = "<script>alert(1)<!--.json"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(BERT_BASE), "utf-8")
    Path("pyproject.toml").write_text(TABLE, "utf-8")
    return tmp_path


Page = Callable[[str], str]


@pytest.fixture
def page(bertsize: Bertsize) -> Page:
    """Write the page of a config, and read it."""

    def write(config: str) -> str:
        assert bertsize.printed("explain", config, "--page", "what-if.html").startswith("what-if.html: what if ")
        return Path("what-if.html").read_text("utf-8")

    return write


# the file


def test_one_file_is_written_that_loads_nothing_and_runs_one_script_by_its_hash(folder: Path, page: Page) -> None:
    text = page("encoder")
    assert {path.name for path in folder.iterdir()} == {"config.json", "pyproject.toml", "what-if.html"}
    assert text.startswith("<!doctype html>\n")
    assert not re.search(r"https?:|url\(|@import|\bsrc=|<link|<img|<iframe|\son\w+=|\beval\b|innerHTML", text)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    own = f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert policy == f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"


@pytest.mark.usefixtures("folder")
def test_a_page_is_replaced_and_a_report_or_another_file_is_not(page: Page, bertsize: Bertsize) -> None:
    assert page("config.json") == page("config.json")
    for content in ("somebody's", '<!doctype html>\n<meta name="generator" content="pytest-bertsize 0.1">'):
        Path("what-if.html").write_text(content, "utf-8")
        assert bertsize.refused("explain", "config.json", "--page", "what-if.html") == (
            "ERROR: --page=what-if.html: this file is not a page of bertsize explain, and is not overwritten; "
            "name another file\n"
        )
        assert Path("what-if.html").read_text("utf-8") == content


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_a_page_is_one_sentence(bertsize: Bertsize) -> None:
    Path("link.html").symlink_to("config.json")
    for path, said in {
        "page.json": "the file must end in .html; write --page=what-if.html",
        "link.html": "this must be a regular file in an existing folder; create the folder, or name another file",
    }.items():
        assert bertsize.refused("explain", "config.json", "--page", path) == f"ERROR: --page={path}: {said}\n"
    assert json.loads(Path("config.json").read_text("utf-8")) == BERT_BASE


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_named_like_a_script_is_a_name(page: Page) -> None:
    Path("config.json").rename(HOSTILE)
    text = page(HOSTILE)
    assert text.count("<script") == text.count("</script") == 1
    assert "&lt;script&gt;alert(1)&lt;!--.json" in text


# what it is about


@pytest.mark.usefixtures("folder")
def test_a_declared_model_brings_its_budget_and_says_what_is_not_counted(page: Page) -> None:
    text = page("encoder")
    model = json.loads(re.findall(r"^const MODEL = (.*)$", text, re.MULTILINE)[0])
    assert model["table"] == "tool.bertsize.models.encoder"
    assert model["limits"] == {
        "total": {"min": None, "max": 110_000_000, "said": "110M"},
        "pooler": {"min": None, "max": 0, "said": "0"},
    }
    assert "pooler" in [row["name"] for row in model["rows"]]
    assert "Limits that are not counted here: bytes 440MB." in text


OWN = """
[tool.bertsize.models.two]
factory = "m:f"
backbone = { ctx = "config.json", question = "other.json" }
budget.total = "300M"

[tool.bertsize.models.cut]
config = "config.json"
architecture = "BertModel"
factory = "m:f"
backbone = "bert"
without = ["bert.encoder.layer[6:]", "bert.pooler"]
extra = [{ name = "more", linear = ["2*hidden_size + 16", "num_labels"], component = "head" }]
budget.total = "300M"
"""


@pytest.mark.parametrize(("model", "key", "fixed"), [("two", "D_c", set()), ("cut", "D", {"num_hidden_layers"})])
def test_a_class_of_the_projects_own_is_followed_with_what_it_adds_and_lacks(
    folder: Path, model: str, key: str, fixed: set[str]
) -> None:
    """At 960 it comes to what the gate counts of a config that says 960; layers that go are named by their number."""
    Path("pyproject.toml").write_text(OWN, "utf-8")
    Path("other.json").write_text(json.dumps({**BERT_BASE, "num_hidden_layers": 2}), "utf-8")
    derivation = explain_model(Model(config=model, budget=Budget())).derivation
    found, sizes = follow_all_sizes(derivation), derivation.form.dims.sizes
    assert found.fixed.keys() == fixed
    Path("config.json").write_text(json.dumps({**BERT_BASE, "hidden_size": 960}), "utf-8")
    assert (
        found.components_at({**sizes, key: 960}) == explain_model(Model(config=model, budget=Budget())).form.components
    )


def test_a_class_whose_count_changes_from_call_to_call_is_one_sentence(folder: Path) -> None:
    """What is followed has to come to what was counted, or there is no page."""
    derivation = explain_model(Model(config="config.json", budget=Budget())).derivation
    turns = iter(range(1, 100))
    moody = Architecture("Moody", lambda dims: module("linear", "x", dims.D, next(turns)))
    form = type(derivation.form)(moody, derivation.form.dims)
    assert form.total
    with pytest.raises(Unusable, match="the closed form of Moody holds for this config alone"):
        follow_all_sizes(type(derivation)(Family("x", derivation.family.keys, (moody,)), form, derivation.values, {}))
