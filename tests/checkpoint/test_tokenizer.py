from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers.models.bert.tokenization_bert import load_vocab

from pytest_bertsize.checkpoint import tokenizer
from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import Inventory, Tensor

ONE_TOKEN: dict[str, Any] = {"model": {"vocab": {"a": 0}}}


def size(root: Path, name: str, content: object) -> int:
    """The ids of a file with this content; with that which it has for ``None``."""
    if content is not None:
        (root / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    file, ids = tokenizer.read_vocabulary(root, name)
    assert file == name
    return ids


def refused(root: Path, name: str, content: object) -> str:
    with pytest.raises(Unusable) as refusal:
        size(root, name, content)
    (finding,) = refusal.value.findings
    assert (finding.kind, finding.severity, finding.file) == ("config-invalid", "error", name)
    return f"{finding.message} → {finding.fix}"


# tokenizer.json


def test_a_vocabulary_counts_to_its_highest_id_with_added_tokens_where_theirs_are_higher(tmp_path: Path) -> None:
    inside = {"id": 1, "content": "b", "special": True}
    for vocabulary, added, ids in (
        ({"[PAD]": 0, "a": 7, "b": 3}, None, 8),
        ({"a": 0, "b": 1}, [], 2),
        ([["a", -1.5], ["b", -2.0]], [], 2),
        ({"a": 0, "b": 1}, [inside], 2),
        ({"a": 0, "b": 1}, [{"id": 9, "content": "c"}, inside], 10),
    ):
        content = {"model": {"type": "WordPiece", "vocab": vocabulary}, "added_tokens": added}
        assert size(tmp_path, "tokenizer.json", content) == ids
    assert size(tmp_path, "vocab.json", {"<s>": 0, "a": 4, "model": 2}) == 5


def test_a_tokenizer_that_the_tokenizers_library_saves_is_read(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models

    saved: Any = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))  # noqa: S106
    saved.add_tokens(["c", "d"])
    saved.save(str(tmp_path / "tokenizer.json"))
    assert tokenizer.read_vocabulary(tmp_path, "tokenizer.json")[1] == saved.get_vocab_size() == 5


WRITTEN_BY_HAND: dict[str, tuple[object, str]] = {
    "empty": (b"", "the file is empty"),
    "list": (b"[]", "it has no tokens with ids: Expected `object`, got `array`"),
    "cut off": (b"{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    "deep": (b"[" * 100_000, "not JSON: nested too deeply"),
    "not UTF-8": (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
    "twice": (b'{"a": 0, "a": 1}', 'one object has the key "a" twice'),
    "no vocabulary": ({"model": {}}, "it has no tokens with ids: Object missing required field `vocab`"),
    "no token": ({"model": {"vocab": {}}}, "it has no tokens with ids: "),
    "no piece": ({"model": {"vocab": []}}, "it has no tokens with ids: "),
    **{str(odd): ({"model": {"vocab": {"a": odd}}}, "it has no tokens with ids: ") for odd in (-1, True, 1.5, 2**40)},
    "added object": ({**ONE_TOKEN, "added_tokens": {}}, "it has no tokens with ids: "),
    "added without id": ({**ONE_TOKEN, "added_tokens": [{"content": "b"}]}, "it has no tokens with ids: "),
    "added text": ({**ONE_TOKEN, "added_tokens": ["b"]}, "it has no tokens with ids: "),
}


@pytest.mark.parametrize("case", WRITTEN_BY_HAND)
def test_a_tokenizer_json_that_says_no_ids_is_refused_in_one_sentence(tmp_path: Path, case: str) -> None:
    content, expected = WRITTEN_BY_HAND[case]
    assert refused(tmp_path, "tokenizer.json", content).startswith(expected)


@pytest.mark.parametrize(("name", "megabytes"), [("vocab.txt", 16), ("vocab.json", 48), ("tokenizer.json", 48)])
def test_a_file_larger_than_any_vocabulary_is_refused_unread(tmp_path: Path, name: str, megabytes: int) -> None:
    with open(tmp_path / name, "wb") as stream:  # noqa: PTH123
        stream.truncate(megabytes * 1024 * 1024 + 1)
    assert refused(tmp_path, name, None).startswith(f"the file is larger than {megabytes * 1024 * 1024:,} bytes → ")


def test_more_tokens_than_any_vocabulary_has_are_not_parsed(tmp_path: Path) -> None:
    content = b'{"a": ' + b"[" * 3_000_001
    said = "more than 3,000,000 commas, colons and brackets → name the tokenizer of one model"
    assert refused(tmp_path, "vocab.json", content) == said


def test_a_tokenizer_beside_several_models_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(ONE_TOKEN))
    parsed: list[str] = []
    whole = Place.json

    def noted(place: Place, content: bytes) -> object:
        parsed.append(place.reference)
        return whole(place, content)

    monkeypatch.setattr(Place, "json", noted)
    assert [tokenizer.read_vocabulary(tmp_path, "tokenizer.json")[1] for _ in range(3)] == [1, 1, 1]
    assert parsed == ["tokenizer.json"]
    (tmp_path / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0, "b": 41}}}')
    assert tokenizer.read_vocabulary(tmp_path, "tokenizer.json")[1] == 42


# vocab.txt and vocab.json


@pytest.mark.parametrize(
    "content",
    [
        "[PAD]\na\nb\n",
        "[PAD]\na\nb",
        "[PAD]\r\na\r\nb\r\n",
        "[PAD]\ra\rb",
        "[PAD]\na\u2028b\nc\x85d\ne\x0bf\x1cg\n",
        "\ufeff[PAD]\na\n",
        "a\n \nb\n",
        "中\n国\n",
    ],
)
def test_a_vocab_txt_has_the_lines_that_transformers_counts(tmp_path: Path, content: str) -> None:
    found = size(tmp_path, "vocab.txt", content.encode())
    assert found == 1 + max(load_vocab(tmp_path / "vocab.txt").values())


def test_a_vocab_txt_beside_bpe_codes_has_fairseq_s_special_tokens_as_well(tmp_path: Path) -> None:
    from transformers import BertweetTokenizer

    (tmp_path / "bpe.codes").write_text("a b 1\n")
    found = size(tmp_path, "vocab.txt", b"a 93\nb 5\nc@@ 1\n")
    made: Any = BertweetTokenizer(str(tmp_path / "vocab.txt"), str(tmp_path / "bpe.codes"))
    assert found == 1 + max(made.get_vocab().values()) == 8


@pytest.mark.parametrize("name", ["vocab.txt", "vocab.json"])
def test_an_older_tokenizer_is_extended_by_the_file_beside_it(tmp_path: Path, name: str) -> None:
    content = b"a\nb\n" if name == "vocab.txt" else {"a": 0, "b": 1}
    (tmp_path / "added_tokens.json").write_text('{"c": 2, "d": 3}')
    assert size(tmp_path, name, content) == 4
    (tmp_path / "added_tokens.json").write_text("{}")
    assert size(tmp_path, name, content) == 2
    (tmp_path / "added_tokens.json").write_text("[]")
    with pytest.raises(Unusable, match="it has no tokens with ids"):
        size(tmp_path, name, content)


# which file


def test_the_tokenizer_beside_a_config_or_in_a_folder_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "bert"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert tokenizer.find_beside(tmp_path, "models/bert/config.json") is None
    for name in ("vocab.json", "vocab.txt", "tokenizer.json"):
        (folder / name).write_text("{}")
        assert tokenizer.find_beside(tmp_path, "models/bert/config.json") == f"models/bert/{name}"
        assert tokenizer.find_beside(tmp_path, "models/bert") == f"models/bert/{name}"
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "vocab.txt").write_text("a")
    assert tokenizer.find_beside(tmp_path, "config.json") == "vocab.txt"


def test_a_broken_link_is_found_so_that_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").symlink_to("gone")
    assert tokenizer.find_beside(tmp_path, "config.json") == "vocab.txt"
    with pytest.raises(Unusable, match="there is no such file"):
        tokenizer.read_vocabulary(tmp_path, "vocab.txt")
    with pytest.raises(Unusable, match="the tokenizer lies outside the project"):
        tokenizer.read_vocabulary(tmp_path, "../vocab.txt")


# rows


def check(ids: int, rows: int, width: int, folder: Path) -> Finding:
    (folder / "vocab.json").write_text(json.dumps({"last": ids - 1}))
    words = Tensor("words", (rows, width), "embeddings.word")
    others = (Tensor("few", (2, width), "embeddings.word"), Tensor("bias", (10**6,), "embeddings.word"))
    (found,) = tokenizer.check_rows(folder, None, (None, "vocab.json"), Inventory((words, *others)))
    assert (found.component, found.expected, found.actual, found.file) == ("embeddings.word", ids, rows, "vocab.json")
    return found


@pytest.mark.parametrize(
    ("ids", "rows", "severity"),
    [
        (21128, 30528, "warning"),  # a multiple of 64, but not the next one
        *((ids, rows, "note") for ids, rows in ((30522, 30592), (30522, 30528), (50265, 50272), (101, 112), (97, 104))),
    ],
)
def test_rows_that_no_id_reaches_are_dead_weight_unless_they_may_be_padding(
    tmp_path: Path, ids: int, rows: int, severity: str
) -> None:
    found = check(ids, rows, 768, tmp_path)
    assert (found.kind, found.severity) == ("dead-weight", severity)
    assert found.message == (
        f"embeddings.word has {rows:,} rows, and vocab.json {ids:,} ids: "
        f"{rows - ids:,} rows of 768 = {768 * (rows - ids):,} parameters that no token reaches"
    )
    fix = f"write vocab_size = {ids} in the config, or name the tokenizer of this model"
    assert found.fix == f"if these rows are no padding, {fix}"


def test_an_id_without_a_row_is_an_error(tmp_path: Path) -> None:
    found = check(30523, 30522, 768, tmp_path)
    assert (found.kind, found.severity) == ("config-invalid", "error")
    assert found.message == (
        "embeddings.word has 30,522 rows, and vocab.json 30,523 ids: the highest, 30,522, has no row"
    )
    assert found.fix == ("write vocab_size = 30523 in the config, or name the tokenizer of this model")


def test_as_many_rows_as_ids_are_nothing_to_say_nor_a_model_without_words_unless_a_tokenizer_is_declared(
    tmp_path: Path,
) -> None:
    (tmp_path / "vocab.json").write_text('{"last": 9}')
    for tensor in (Tensor("words", (10, 3), "embeddings.word"), Tensor("words", (9, 3), "encoder")):
        assert tokenizer.check_rows(tmp_path, None, ("vocab.json",), Inventory((tensor,))) == []
    (finding,) = tokenizer.check_rows(tmp_path, "vocab.json", (), Inventory((tensor,)))
    assert finding.sentence.endswith(
        "the tokenizer cannot be compared, because the model has no component embeddings.word; remove tokenizer"
    )
