"""ERNIE (Sun et al. 2019, arXiv 1904.09223): BERT, since ERNIE 2.0 (arXiv 1907.12412) with an embedding of the task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms import heads
from pytest_bertsize.closed_forms.blocks import embedding
from pytest_bertsize.closed_forms.body import POOLER, Body
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.variations import extended
from pytest_bertsize.config_keys import Size, Switch

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.closed_forms.dims import Dims


def ernie(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT, and Tt·D for the kinds of task that it is trained on."""
    tasks = embedding("embeddings.task_type_embeddings", dims.Tt, dims.D, component="embeddings.task_type")
    return extended(bert.bert(dims, pooler=pooler, name=name), tasks if dims.use_task_id else None)


def architectures(prefix: str, body: Body) -> tuple[Architecture, ...]:
    """The classes of a family that has all of BERT's.

    :param prefix: of the classes' names: ``"MegatronBert"``.
    """
    masked_lm = heads.masked_lm(f"{body.name}.embeddings.word_embeddings.weight")
    return (
        Architecture(f"{prefix}Model", body.alone, options=POOLER),
        Architecture(f"{prefix}ForPreTraining", body.under(masked_lm, heads.next_sentence, pooler=True)),
        Architecture(f"{prefix}ForMaskedLM", body.under(masked_lm)),
        Architecture(f"{prefix}ForCausalLM", body.under(masked_lm)),
        Architecture(f"{prefix}ForNextSentencePrediction", body.under(heads.next_sentence, pooler=True)),
        Architecture(f"{prefix}ForSequenceClassification", body.under(heads.classifier, pooler=True), labels=True),
        Architecture(f"{prefix}ForMultipleChoice", body.under(heads.choice, pooler=True)),
        Architecture(f"{prefix}ForTokenClassification", body.under(heads.classifier), labels=True),
        Architecture(f"{prefix}ForQuestionAnswering", body.under(heads.span), labels=True),
    )


KEYS = replace(
    bert.KEYS,
    sizes=(*bert.KEYS.sizes, Size("task_type_vocab_size", "Tt", default=3)),
    switches=(*bert.KEYS.switches, Switch("use_task_id", default=False)),
    inert=frozenset({"enable_recompute", "fuse", "paddlenlp_version", "pool_act", "task_id"}),
)

FAMILY = Family("ernie", KEYS, architectures("Ernie", Body("ernie", ernie)))
