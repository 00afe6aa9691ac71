"""What BERT's tensors are called elsewhere: by bert4keras, a layer each, and by the variables of Google's checkpoints.

Sources: ``variable_mapping`` of bert4keras, which says both; google-research/bert, ``modeling.py``,
``run_pretraining.py``, ``run_classifier.py`` and ``run_squad.py``.
"""

from __future__ import annotations

FAMILY = "bert"
"""The family whose tensors the tables below know."""
PREFIX = "bert."
"""Under which a class with a head keeps its body; neither vocabulary tells the difference."""

_LAYER = "encoder.layer.*"
_ATTENTION = "Transformer-k-MultiHeadSelfAttention"
_FEED_FORWARD = "Transformer-k-FeedForward"

BERT4KERAS = {
    "embeddings.word_embeddings": "Embedding-Token",
    "embeddings.token_type_embeddings": "Embedding-Segment",
    "embeddings.position_embeddings": "Embedding-Position",
    "embeddings.LayerNorm": "Embedding-Norm",
    f"{_LAYER}.attention.self.query": _ATTENTION,
    f"{_LAYER}.attention.self.key": _ATTENTION,
    f"{_LAYER}.attention.self.value": _ATTENTION,
    f"{_LAYER}.attention.output.dense": _ATTENTION,
    f"{_LAYER}.attention.output.LayerNorm": f"{_ATTENTION}-Norm",
    f"{_LAYER}.intermediate.dense": _FEED_FORWARD,
    f"{_LAYER}.output.dense": _FEED_FORWARD,
    f"{_LAYER}.output.LayerNorm": f"{_FEED_FORWARD}-Norm",
    "pooler.dense": "Pooler-Dense",
    "cls.seq_relationship": "NSP-Proba",
    "cls.predictions.transform.dense": "MLM-Dense",
    "cls.predictions.transform.LayerNorm": "MLM-Norm",
    "cls.predictions": "MLM-Bias",
}
"""Module → layer, in the order of ``model.summary()``. What a fine-tuned class adds is called as its author likes."""

_TF_LAYER = "bert/encoder/layer_k"
_DENSE = {"weight": "kernel", "bias": "bias"}
_NORM = {"weight": "gamma", "bias": "beta"}
_TABLE = {"weight": ""}
_OUTPUT = {"weight": "output_weights", "bias": "output_bias"}

_VARIABLES = {
    "embeddings.word_embeddings": ("bert/embeddings/word_embeddings", _TABLE),
    "embeddings.token_type_embeddings": ("bert/embeddings/token_type_embeddings", _TABLE),
    "embeddings.position_embeddings": ("bert/embeddings/position_embeddings", _TABLE),
    "embeddings.LayerNorm": ("bert/embeddings/LayerNorm", _NORM),
    f"{_LAYER}.attention.self.query": (f"{_TF_LAYER}/attention/self/query", _DENSE),
    f"{_LAYER}.attention.self.key": (f"{_TF_LAYER}/attention/self/key", _DENSE),
    f"{_LAYER}.attention.self.value": (f"{_TF_LAYER}/attention/self/value", _DENSE),
    f"{_LAYER}.attention.output.dense": (f"{_TF_LAYER}/attention/output/dense", _DENSE),
    f"{_LAYER}.attention.output.LayerNorm": (f"{_TF_LAYER}/attention/output/LayerNorm", _NORM),
    f"{_LAYER}.intermediate.dense": (f"{_TF_LAYER}/intermediate/dense", _DENSE),
    f"{_LAYER}.output.dense": (f"{_TF_LAYER}/output/dense", _DENSE),
    f"{_LAYER}.output.LayerNorm": (f"{_TF_LAYER}/output/LayerNorm", _NORM),
    "pooler.dense": ("bert/pooler/dense", _DENSE),
    "cls.predictions": ("cls/predictions", {"bias": "output_bias"}),
    "cls.predictions.transform.dense": ("cls/predictions/transform/dense", _DENSE),
    "cls.predictions.transform.LayerNorm": ("cls/predictions/transform/LayerNorm", _NORM),
    "cls.seq_relationship": ("cls/seq_relationship", _OUTPUT),
    "qa_outputs": ("cls/squad", _OUTPUT),
}

TENSORFLOW = {
    f"{module}.{tensor}": "/".join(filter(None, (variable, name)))
    for module, (variable, names) in _VARIABLES.items()
    for tensor, name in names.items()
}
"""Tensor → variable."""

TENSORFLOW_OF_CLASS = {
    "BertForSequenceClassification": {"classifier.weight": "output_weights", "classifier.bias": "output_bias"}
}
"""``classifier`` is a module of three classes, of which Google wrote one (``run_classifier.py``)."""

VOCABULARIES = ("transformers", "bert4keras", "tensorflow")


def in_transformers(name: str) -> str:
    """``encoder.layer.*.output.dense.bias`` → ``encoder.layer.k.output.dense.bias``."""
    return name.replace(".*.", ".k.")


def in_bert4keras(name: str, architecture: str = "") -> str | None:  # noqa: ARG001  (one signature for both)
    """The layer that a tensor belongs to; ``None`` for one that bert4keras has not."""
    return BERT4KERAS.get(name.removeprefix(PREFIX).rpartition(".")[0])


def in_tensorflow(name: str, architecture: str = "") -> str | None:
    """The variable that a tensor is in Google's checkpoints; ``None`` for one that they have not."""
    bare = name.removeprefix(PREFIX)
    return TENSORFLOW.get(bare) or TENSORFLOW_OF_CLASS.get(architecture, {}).get(bare)


def transposed(variable: str) -> bool:
    """A kernel of TensorFlow has a row for each input, and a weight of torch for each output."""
    return variable.endswith("/kernel")
