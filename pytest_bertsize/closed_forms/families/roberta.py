"""RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT without its next sentence, and heads of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import POOLER, Body
from pytest_bertsize.config.older_releases import V4

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def architectures(prefix: str, body: Body, choice: Callable[[Dims], Block] | None = None) -> tuple[Architecture, ...]:
    """The classes of a family that is built like RoBERTa.

    :param prefix: of the classes' names: ``"XLMRoberta"``.
    :param choice: the one for multiple choice, where it is not RoBERTa's.
    """
    lm_head = heads.lm_head(f"{body.name}.embeddings.word_embeddings.weight")
    return (
        Architecture(f"{prefix}Model", body.alone, options=POOLER),
        Architecture(f"{prefix}ForCausalLM", body.under(lm_head)),
        Architecture(f"{prefix}ForMaskedLM", body.under(lm_head)),
        Architecture(f"{prefix}ForSequenceClassification", body.under(heads.dense_classifier), labels=True),
        Architecture(f"{prefix}ForMultipleChoice", choice or body.under(heads.choice, pooler=True)),
        Architecture(f"{prefix}ForTokenClassification", body.under(heads.classifier), labels=True),
        Architecture(f"{prefix}ForQuestionAnswering", body.under(heads.span), labels=True),
    )


def choice_without_pooler(body: Body) -> Callable[[Dims], Block]:
    """The class for multiple choice that lacked the pooler whose output it reads, from transformers 5.0 to 5.12.

    https://github.com/huggingface/transformers/pull/47147 gave it back.
    """

    def blocks(dims: Dims) -> Block:
        return body.under(heads.choice, pooler=not V4 <= dims.release < (5, 13))(dims)

    return blocks


def encoders(prefix: str, body: Body) -> tuple[Architecture, ...]:
    """The same without the one that decodes."""
    return tuple(each for each in architectures(prefix, body) if not each.name.endswith("ForCausalLM"))


KEYS = bert.KEYS.but(vocab_size=50265)

FAMILY = Family("roberta", KEYS, architectures("Roberta", Body("roberta", bert.bert)))
