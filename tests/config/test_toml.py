"""A TOML file as a config."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pytest_bertsize.config.source import read_file
from pytest_bertsize.findings import Finding, Unusable

TRAINING = """\
started = 2024-01-01
[model]
hidden_size = 768
eps = 1e-12
attention.heads = 12
"""


def refused(folder: Path, text: str, inner: str = "") -> Finding:
    (folder / "train.toml").write_text(text, encoding="utf-8")
    with pytest.raises(Unusable) as unusable:
        read_file(folder, f"train.toml{inner}")
    (finding,) = unusable.value.findings
    return finding


def test_an_object_of_a_file_is_read_whatever_else_stands_there(tmp_path: Path) -> None:
    (tmp_path / "train.toml").write_text(TRAINING, encoding="utf-8")
    config = read_file(tmp_path, "train.toml#model")
    assert config.data == {"hidden_size": 768, "eps": 1e-12, "attention": {"heads": 12}}
    assert (config.reference, config.sha256) == ("train.toml#model", hashlib.sha256(TRAINING.encode()).hexdigest())
    assert [config.line("hidden_size"), config.line("attention", "heads"), config.line("vocab_size")] == [3, 5, None]


@pytest.mark.parametrize(
    ("text", "inner", "sentence"),
    [
        (TRAINING, "", "train.toml:1: started is 2024-01-01, which JSON cannot say; write it as a string"),
        (TRAINING, "#bert", 'train.toml: there is no bert in the file; at that place there is "started", "model"; *'),
        ("a = 1\na = 2\n", "", "train.toml:2: not TOML: Cannot overwrite a value; correct the file"),
        ("a = nan\n", "", "train.toml:1: a is nan, which is no number; write a number"),
        ('{"hidden_size": 768}', "", "train.toml:1: not TOML: Invalid statement; correct the file"),
        (f"a = {'[' * 3000}{']' * 3000}", "", "train.toml: not TOML: TOML inline arrays/tables are nested more than*"),
    ],
)
def test_what_is_no_config_is_told_in_a_sentence(tmp_path: Path, text: str, inner: str, sentence: str) -> None:
    assert refused(tmp_path, text, inner).sentence.startswith(sentence.removesuffix("*"))
