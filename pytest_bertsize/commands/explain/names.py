"""Explain BERT's count with other names of its tensors: layers of bert4keras, or variables of Google's checkpoints.

The layers are those that bert4keras prints by ``model.summary()``. Sources: ``variable_mapping`` of bert4keras; and
google-research/bert, ``modeling.py``, ``run_pretraining.py``, ``run_classifier.py`` and ``run_squad.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.symbols import ONE
from pytest_bertsize.commands.explain.tree import Leaf, Line, Tensors, group_by, write_shape
from pytest_bertsize.inventory import TOTAL, parents_first

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import ClosedForm

FAMILY = "bert"  # the family whose modules are in NAMES

_LAYER, _TF_LAYER = "encoder.layer.*", "bert/encoder/layer_k"
_ATTENTION, _FEED_FORWARD = "Transformer-k-MultiHeadSelfAttention", "Transformer-k-FeedForward"
_DENSE = {"weight": "/kernel", "bias": "/bias"}
_NORM = {"weight": "/gamma", "bias": "/beta"}
_OUTPUT = {"weight": "/output_weights", "bias": "/output_bias"}
_WHOLE = {"weight": ""}

# The names for each module of BERT: its layer in bert4keras, and the beginning and ends of Google's variables.
#
# The order is that of ``model.summary()``. Layers that a fine-tuned class adds are absent: their author names them.
NAMES: dict[str, tuple[str, str, dict[str, str]]] = {
    "embeddings.word_embeddings": ("Embedding-Token", "bert/embeddings/word_embeddings", _WHOLE),
    "embeddings.token_type_embeddings": ("Embedding-Segment", "bert/embeddings/token_type_embeddings", _WHOLE),
    "embeddings.position_embeddings": ("Embedding-Position", "bert/embeddings/position_embeddings", _WHOLE),
    "embeddings.LayerNorm": ("Embedding-Norm", "bert/embeddings/LayerNorm", _NORM),
    f"{_LAYER}.attention.self.query": (_ATTENTION, f"{_TF_LAYER}/attention/self/query", _DENSE),
    f"{_LAYER}.attention.self.key": (_ATTENTION, f"{_TF_LAYER}/attention/self/key", _DENSE),
    f"{_LAYER}.attention.self.value": (_ATTENTION, f"{_TF_LAYER}/attention/self/value", _DENSE),
    f"{_LAYER}.attention.output.dense": (_ATTENTION, f"{_TF_LAYER}/attention/output/dense", _DENSE),
    f"{_LAYER}.attention.output.LayerNorm": (f"{_ATTENTION}-Norm", f"{_TF_LAYER}/attention/output/LayerNorm", _NORM),
    f"{_LAYER}.intermediate.dense": (_FEED_FORWARD, f"{_TF_LAYER}/intermediate/dense", _DENSE),
    f"{_LAYER}.output.dense": (_FEED_FORWARD, f"{_TF_LAYER}/output/dense", _DENSE),
    f"{_LAYER}.output.LayerNorm": (f"{_FEED_FORWARD}-Norm", f"{_TF_LAYER}/output/LayerNorm", _NORM),
    "pooler.dense": ("Pooler-Dense", "bert/pooler/dense", _DENSE),
    "cls.seq_relationship": ("NSP-Proba", "cls/seq_relationship", _OUTPUT),
    "cls.predictions.transform.dense": ("MLM-Dense", "cls/predictions/transform/dense", _DENSE),
    "cls.predictions.transform.LayerNorm": ("MLM-Norm", "cls/predictions/transform/LayerNorm", _NORM),
    "cls.predictions": ("MLM-Bias", "cls/predictions", {"bias": "/output_bias"}),
    "qa_outputs": ("", "cls/squad", _OUTPUT),
}
ORDER = {layer: place for place, (layer, _, _) in enumerate(NAMES.values())}


def rename(name: str, vocabulary: str, architecture: str) -> str:
    """Return the layer of bert4keras that has a tensor, or the variable in Google's checkpoints; ``""`` for none."""
    module, _, tensor = name.removeprefix("bert.").rpartition(".")
    layer, variable, ends = NAMES.get(module, ("", "", {}))
    if vocabulary != "tensorflow":
        return layer if vocabulary == "bert4keras" else ""
    if module == "classifier" and architecture == "BertForSequenceClassification":  # the one class of Google's with it
        return _OUTPUT[tensor].removeprefix("/")
    return f"{variable}{ends[tensor]}" if tensor in ends else ""


def list_by_names(form: ClosedForm, vocabulary: str) -> list[Line]:
    """List a line for every layer or tensor, each component's sum under its lines, and the total."""
    naming = _Naming(form, vocabulary)
    lines = [line for name in parents_first(naming.by_component) for line in naming.list_component(name)]
    rest = [Line(0, "dropout and add layers", minor=True)] if naming.has_layers else []
    return [*lines, *rest, Line(0, TOTAL, count=form.total)]


class _Naming(Tensors):
    def __init__(self, form: ClosedForm, vocabulary: str) -> None:
        super().__init__(form)
        self.vocabulary, self.has_layers = vocabulary, vocabulary == "bert4keras"  # layers of Keras, else tensors

    def list_component(self, name: str) -> list[Line]:
        lines: list[Line] = []
        for repeats, group in group_by(self.by_component[name], lambda leaf: leaf.repeats).items():
            named = group_by(group, self._find_name)
            in_order = sorted(named, key=lambda each: ORDER.get(each, len(NAMES))) if self.has_layers else named
            lines += [self._describe(each, named[each]) for each in in_order]
            if repeats != ONE:
                one = "one Transformer" if self.has_layers else "one layer"
                lines.append(self.make_line(0, f"{one} of {group[0].times:,}", group, ""))
        return lines if len(lines) == 1 else [*lines, self.make_component_line(name, has_lines=True)]

    def _find_name(self, leaf: Leaf) -> str:
        architecture = self.form.architecture
        held = leaf.name.removeprefix(f"{architecture.added.get('backbone', '')}.")
        if found := rename(held, self.vocabulary, architecture.name):
            return found
        is_own = self.has_layers and held == leaf.name and architecture.added  # a layer of the class itself
        return leaf.module if is_own else leaf.name.replace(".*.", ".k.")

    def _describe(self, name: str, group: list[Leaf]) -> Line:
        first = group[0]
        shape = write_shape(first.shape[::-1] if name.endswith("/kernel") else first.shape)  # a row for each input
        if all(leaf.tied_to for leaf in group):
            owner = self.by_name.get(first.tied_to or "")
            tie = f"tied to {self._find_name(owner) if owner else first.tied_to}"
            return self.make_line(1, name, group, shape, formula=tie, minor=True, tensor=True)
        return self.make_line(1, name, group, None if self.has_layers else shape, tensor=not self.has_layers)
