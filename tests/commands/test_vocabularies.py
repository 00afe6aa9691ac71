"""BERT's tensors by the names of bert4keras and of Google's checkpoints. Figures are SOURCES B and E."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.__main__ import SETTINGS
from pytest_bertsize.closed_forms import ClosedForm
from pytest_bertsize.commands.explain.names import list_by_names, rename
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.inventory import TOTAL, pattern
from tests.support.bert_reviews import BERT, SIZES, SWITCHES

if TYPE_CHECKING:
    from tests.commands.conftest import Bertsize

EXAMPLES = Path(__file__).parents[2] / "examples"
NO_POOLER = ("--family", "bert", "--architecture", "BertModel", "--option", "add_pooling_layer=false")

DECODING = {**SWITCHES, "is_decoder": True, "add_cross_attention": True}
UNTIED = {**SWITCHES, "tie_word_embeddings": False}


def form(name: str, switches: dict[str, object]) -> ClosedForm:
    architecture = BERT.architecture(name)
    assert architecture
    return ClosedForm(architecture, Dims({**SIZES, "C": 2}, {**switches, **architecture.options}))


def column(text: str, last: str) -> list[tuple[str, str]]:
    """Name and parameters of every line of the table that has a number, down to ``last``."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()[3:] if line.strip()]
    ends = next(number for number, row in enumerate(rows, 1) if row[0] == last)
    numbers = [(row[0], [cell for cell in row if re.fullmatch(r"[\d,]+", cell)]) for row in rows[:ends]]
    return [(name, counts[0]) for name, counts in numbers if counts]


def test_bert_large_chinese_is_the_summary_of_bert4keras_line_for_line(bertsize: Bertsize) -> None:
    out = bertsize.printed("explain", str(EXAMPLES / "b-bert-large-chinese"), *NO_POOLER, "--names", "bert4keras")
    # SOURCES B
    assert column(out, TOTAL) == [
        ("Embedding-Token", "21,635,072"),
        ("Embedding-Segment", "2,048"),
        ("Embedding-Position", "524,288"),
        ("Embedding-Norm", "2,048"),
        ("embeddings", "22,163,456"),
        ("Transformer-k-MultiHeadSelfAttention", "4,198,400"),
        ("Transformer-k-MultiHeadSelfAttention-Norm", "2,048"),
        ("Transformer-k-FeedForward", "8,393,728"),
        ("Transformer-k-FeedForward-Norm", "2,048"),
        ("one Transformer of 24", "12,596,224"),
        ("encoder", f"{24 * 12_596_224:,}"),
        ("dropout and add layers", "0"),
        ("total", "324,472,832"),
    ]


def test_the_variables_of_googles_checkpoint_have_its_shapes() -> None:
    lines = {line.name: line for line in list_by_names(form("BertForMaskedLM", SWITCHES), "tensorflow")}
    # google-research/bert: a kernel has its inputs in rows, word embeddings their words
    assert lines["bert/embeddings/word_embeddings"].numbers == "(21128, 768)"
    assert lines["bert/encoder/layer_k/intermediate/dense/kernel"].numbers == "(768, 3072)"
    assert lines["bert/encoder/layer_k/attention/self/query/bias"].count == 768
    assert lines["cls/predictions/transform/dense/kernel"].count == 768 * 768
    assert lines["cls/predictions/output_bias"].count == 21_128


@pytest.mark.parametrize("vocabulary", SETTINGS["--names"]["choices"])
@pytest.mark.parametrize("switches", [SWITCHES, UNTIED, DECODING], ids=["as published", "untied", "decoding"])
def test_every_tensor_has_a_line_and_the_lines_sum_to_the_total(switches: dict[str, object], vocabulary: str) -> None:
    for architecture in BERT.architectures:
        known = form(architecture.name, switches)
        lines = list_by_names(known, vocabulary)
        assert sum(line.in_all or line.count for line in lines if line.depth == 1) == known.total
        assert lines[-1].count == known.total
        listed = {line.name for line in lines}
        for name in {pattern(tensor.name) for tensor in known.tensors}:
            assert (rename(name, vocabulary, architecture.name) or name.replace(".*.", ".k.")) in listed


def test_names_that_only_bert_has_are_refused_for_another_family(tmp_path: Path, bertsize: Bertsize) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"model_type": "roberta", "architectures": ["RobertaModel"]}', "utf-8")
    assert bertsize.refused("explain", str(config), "--names", "bert4keras") == (
        "ERROR: --names bert4keras has names for the family 'bert', but the model's family is 'roberta'; "
        "write --names transformers, which has names for every family\n"
    )
    assert "encoder.layer.k.attention.self.query.weight" in bertsize.printed(
        "explain", str(config), "--names", "transformers"
    )
