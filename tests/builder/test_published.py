"""Names of the hub: what is one, which are the same, and what the cache of a machine is read for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_bertsize.builder.published import LARGEST, find_in, find_published, in_cache, in_catalogue, is_name

COMMIT = "86b5e0934494bd15c9632b12f734a8a67f723594"


NO_NAMES = [
    *("", "a b", "a\n", ".", "..", "a/..", "../a", "/a", "a/", "a//b", "a/b/c", "a--b", "a..b", "ä", "a\\b", "a:b"),
    *("~", "config.json", "configs/x.JSON", "x.yaml", "a" * 97),
]


@pytest.mark.parametrize("text", NO_NAMES)
def test_a_path_is_none(text: str) -> None:
    assert not is_name(text)
    assert find_published(text) is None


@pytest.mark.parametrize("moved", ["google-bert/bert-base-uncased", "bert-base-uncased"])
def test_a_model_that_has_moved_has_both_names(moved: str) -> None:
    found = in_catalogue(moved)
    assert found
    assert (found.name, json.loads(found.config)["vocab_size"]) == ("google-bert/bert-base-uncased", 30522)
    assert find_in(["x", "bert-base-uncased"], moved) == "bert-base-uncased"


def test_the_organisation_of_anybody_else_is_part_of_the_name() -> None:
    assert in_catalogue("acme/bert-base-uncased") is None
    assert find_in(["acme/bert"], "bert") is None


# the cache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As huggingface_hub lays it out: a file of a snapshot is a symlink to a blob."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--acme--tiny"
    for path, text in (("refs/main", COMMIT), ("blobs/0a1b", '{"model_type": "bert"}')):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text, "utf-8")
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    (folder / "snapshots" / COMMIT / "config.json").symlink_to("../../blobs/0a1b")
    return folder


@pytest.mark.parametrize("revision", ["main", COMMIT])
def test_a_cached_config_says_its_revision(cache: Path, revision: str) -> None:
    found = in_cache("acme/tiny", revision)
    assert found
    assert (found.config, found.origin) == (b'{"model_type": "bert"}', "the hub cache, revision 86b5e0934494")
    assert found.folder == cache / "snapshots" / COMMIT


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("variable", ["HF_HOME", "XDG_CACHE_HOME"])
def test_the_cache_is_where_the_library_has_it(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables"""
    home = tmp_path / "home"
    hub = home / "hub" if variable == "HF_HOME" else home / "huggingface" / "hub"
    hub.mkdir(parents=True)
    (tmp_path / "models--acme--tiny").rename(hub / "models--acme--tiny")
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.delenv("HF_HOME", raising=False)
    assert in_cache("acme/tiny") is None
    monkeypatch.setenv(variable, str(home))
    assert in_cache("acme/tiny")


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("revision", ["other", "0" * 40, "../refs/main", ""])
def test_another_revision_is_not_there(revision: str) -> None:
    assert in_cache("acme/tiny", revision) is None


def test_no_symlink_leads_out_of_the_folder_of_the_model(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('{"model_type": "bert"}', "utf-8")
    (cache / "blobs" / "0a1b").unlink()
    (cache / "blobs" / "0a1b").symlink_to(tmp_path / "secret")
    assert in_cache("acme/tiny") is None


def test_no_more_is_read_than_tells_that_it_is_too_large(cache: Path) -> None:
    (cache / "blobs" / "0a1b").write_bytes(b" " * (LARGEST + 9))
    found = in_cache("acme/tiny")
    assert found
    assert len(found.config) == LARGEST + 1


def test_a_reference_is_the_name_of_a_commit_and_no_path(cache: Path) -> None:
    (cache / "refs" / "main").write_text("../../../etc", "utf-8")
    assert in_cache("acme/tiny") is None
