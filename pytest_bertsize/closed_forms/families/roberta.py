"""RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT without its next sentence, and heads of its own."""

from pytest_bertsize.closed_forms.declare import extend, family, fill
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import heads

CLASSES = """
*Model                       body(pooler=add_pooling_layer)   option add_pooling_layer=True
*ForCausalLM                 {name}.body + lm_head
*ForMaskedLM                 {name}.body + lm_head
*ForSequenceClassification   {name}.body + dense_classifier
*ForMultipleChoice           {name}.body({choice}) + choice
*ForTokenClassification      {name}.body + classifier
*ForQuestionAnswering        {name}.body + span
"""
WITHOUT_POOLER = "pooler=before(5) or not before(5, 13)"
"""From transformers 5.0 to 5.12 some classes for multiple choice lacked the pooler whose output they read.
https://github.com/huggingface/transformers/pull/47147 gave it back."""


def classes(prefix: str, name: str, *, choice: str = "pooler") -> str:
    """Return the classes of a family that is built like RoBERTa."""
    return fill(CLASSES, name=name, choice=choice).replace("*", prefix)


def encoders(prefix: str, name: str) -> str:
    """Return the same without the one that decodes."""
    return "\n".join(each for each in classes(prefix, name).splitlines() if "ForCausalLM" not in each)


def trees(name: str, body: str = bert.BERT) -> dict[str, str]:
    """Return the body of a family that has RoBERTa's classes, and their heads."""
    return {
        "body": body,
        "lm_head": heads.lm_head(f"{name}.embeddings.word_embeddings.weight"),
    }


KEYS = extend(bert.KEYS, "V 50265")

FAMILY = family("roberta", KEYS, classes("Roberta", "roberta"), trees("roberta"))
