"""RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT without its next sentence, and heads of its own."""

from __future__ import annotations

from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import POOLER, Body


def architectures(prefix: str, body: Body) -> tuple[Architecture, ...]:
    """The classes of a family that is built like RoBERTa.

    :param prefix: of the classes' names: ``"XLMRoberta"``.
    """
    lm_head = heads.lm_head(f"{body.name}.embeddings.word_embeddings.weight")
    return (
        Architecture(f"{prefix}Model", body.alone, options=POOLER),
        Architecture(f"{prefix}ForCausalLM", body.under(lm_head)),
        Architecture(f"{prefix}ForMaskedLM", body.under(lm_head)),
        Architecture(f"{prefix}ForSequenceClassification", body.under(heads.dense_classifier), labels=True),
        Architecture(f"{prefix}ForMultipleChoice", body.under(heads.choice, pooler=True)),
        Architecture(f"{prefix}ForTokenClassification", body.under(heads.classifier), labels=True),
        Architecture(f"{prefix}ForQuestionAnswering", body.under(heads.span), labels=True),
    )


def encoders(prefix: str, body: Body) -> tuple[Architecture, ...]:
    """The same without the one that decodes."""
    return tuple(each for each in architectures(prefix, body) if not each.name.endswith("ForCausalLM"))


KEYS = bert.KEYS.but(vocab_size=50265)

FAMILY = Family("roberta", KEYS, architectures("Roberta", Body("roberta", bert.bert)))
