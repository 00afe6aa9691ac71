"""T5 (Raffel et al. 2019, arXiv 1910.10683): an encoder and a decoder without biases, with relative positions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, linear, parameter, repeat, tied
from pytest_bertsize.closed_forms.family import Architecture, Deriving
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Choice, ConfigKeys, Ignored, Size, Switch, Until, hidden_act
from pytest_bertsize.config.older_releases import V4, without_alias
from pytest_bertsize.config.vocabulary import ACTIVATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.closed_forms.parts.body import Head
    from pytest_bertsize.config.dims import Dims


def words(name: str, dims: Dims, shared: str = "") -> Block:
    """V·D, or nothing where they are tied; the config has no say in that.

    :param shared: full name of the matrix that they are tied to.
    """
    module = embedding(name, dims.V, dims.D, component="embeddings.word")
    return tied(module, weight=shared) if shared else module


def norm(name: str, dims: Dims, stack: str) -> Block:
    """D weights: it scales and does not shift (Zhang and Sennrich 2019, arXiv 1910.07467)."""
    return block(name, parameter("weight", dims.D), component=f"{stack}.norm")


def attention(name: str, dims: Dims, component: str) -> Block:
    """4·D·A·K: the width of a head, K, is its own and not D/A."""
    D, inner = dims.D, dims.A * dims.K
    projections = (linear(each, D, inner, bias=False) for each in ("q", "k", "v"))
    return block(name, *projections, linear("o", inner, D, bias=False), component=component)


def feed_forward(name: str, dims: Dims, component: str) -> Block:
    """2·D·I; gated, 3·D·I (Shazeer 2020, arXiv 2002.05202)."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for the inner width)
    inward = ("wi_0", "wi_1") if dims.is_gated_act else ("wi",)
    return block(
        name,
        *(linear(each, D, I, bias=False) for each in inward),
        linear("wo", I, D, bias=False),
        activation("act", dims.dense_act_fn),
        component=component,
    )


def distances(path: str, dims: Dims, stack: str) -> Block:
    """B·A: a row for each bucket of distances, a number for each head."""
    name = f"{path}layer.0.SelfAttention.relative_attention_bias"
    return embedding(name, dims.B, dims.A, component=f"{stack}.relative_position")


def stack(name: str, dims: Dims, count: Count, shared: str, *, crosses: bool, in_each: bool) -> Block:
    """L·(4·D·A·K + 2·D·I + 2·D) + B·A + D; cross-attention adds L·(4·D·A·K + D).

    :param name: ``"encoder"`` or ``"decoder"``.
    :param crosses: whether it attends to another stack.
    :param in_each: whether each layer has a table of distances of its own, and not the first for all of them.
    """
    last = "layer.2" if crosses else "layer.1"
    return block(
        name,
        words("embed_tokens", dims, shared),
        None if in_each else distances("block.0.", dims, name),
        repeat(
            "block",
            count,
            distances("", dims, name) if in_each else None,
            attention("layer.0.SelfAttention", dims, f"{name}.attention"),
            norm("layer.0.layer_norm", dims, name),
            attention("layer.1.EncDecAttention", dims, f"{name}.cross_attention") if crosses else None,
            norm("layer.1.layer_norm", dims, name) if crosses else None,
            feed_forward(f"{last}.DenseReluDense", dims, f"{name}.feed_forward"),
            norm(f"{last}.layer_norm", dims, name),
        ),
        norm("final_layer_norm", dims, name),
    )


def encoder_alone(dims: Dims, name: str = "", *, in_each: bool = False) -> Block:
    """V·D of word embeddings and the encoder, to which ``is_decoder`` gives a cross-attention."""
    shared = f"{name}.shared.weight" if name else "shared.weight"
    encoder = stack("encoder", dims, dims.L, shared, crosses=dims.is_decoder, in_each=in_each)
    return block(name, words("shared", dims), encoder)


def both(dims: Dims, name: str = "", *, in_each: bool = False) -> Block:
    """V·D of word embeddings and both stacks."""
    shared = f"{name}.shared.weight" if name else "shared.weight"
    encoder = stack("encoder", dims, dims.L, shared, crosses=False, in_each=in_each)
    decoder = stack("decoder", dims, dims.either("Ld", dims.L), shared, crosses=True, in_each=in_each)
    return block(name, words("shared", dims), encoder, decoder)


def lm_head(dims: Dims) -> Block:
    """Nothing: it is always tied; in transformers 4, V·D where the config says so."""
    module = linear("lm_head", dims.D, dims.V, bias=False, component="head.decoder")
    return tied(module, weight="shared.weight") if dims.switches.get(TIES, True) else module


def topped(body: Callable[[Dims, str], Block], name: str, head: Head) -> Callable[[Dims], Block]:
    """The class that keeps a body under ``name``, ``""`` for none, and puts a head on it."""
    return lambda dims: block("", body(dims, name), head(dims))


def architectures(prefix: str, *, in_each: bool = False) -> tuple[Architecture, ...]:
    """The classes of T5 and of those built like it.

    :param prefix: of the classes' names: ``"T5"``.
    :param in_each: as in :func:`stack`.
    """
    whole, alone = (partial(body, in_each=in_each) for body in (both, encoder_alone))
    return (
        Architecture(f"{prefix}Model", whole),
        Architecture(f"{prefix}ForConditionalGeneration", topped(whole, "", lm_head)),
        Architecture(f"{prefix}EncoderModel", alone),
        Architecture(
            f"{prefix}ForSequenceClassification", topped(whole, "transformer", heads.classification_head), labels=True
        ),
        Architecture(f"{prefix}ForTokenClassification", topped(alone, "transformer", heads.classifier), labels=True),
        Architecture(f"{prefix}ForQuestionAnswering", topped(whole, "", heads.span), labels=True),
    )


def derived(projection: str, layers: int) -> Callable[[Mapping[str, object]], dict[str, object]]:
    """What the config class makes of other keys, unless the file says it itself.

    :param projection: the default of ``feed_forward_proj``.
    :param layers: the default of ``num_layers``, which the decoder has where a file calls it ``num_hidden_layers``:
        the class copies it before it looks at aliases.
    """

    def derive(written: Mapping[str, object]) -> dict[str, object]:
        said = str(written.get("feed_forward_proj", projection))
        function = "gelu_new" if said == "gated-gelu" else said.removeprefix("gated-")
        follows: dict[str, object] = {"is_gated_act": said.startswith("gated-")}
        if function in ACTIVATIONS:
            follows["dense_act_fn"] = function
        follows = {key: value for key, value in follows.items() if key not in written}
        by_alias = "num_hidden_layers" in written and "num_layers" not in written
        if by_alias and written.get("num_decoder_layers") is None:
            follows["num_decoder_layers"] = layers
        return follows

    return derive


TIES = "tie_word_embeddings"


def honoured(*, default: bool) -> Until:
    """Before transformers 5 the config says whether the head is tied.

    :param default: of the family's config class.
    """

    def change(keys: ConfigKeys) -> ConfigKeys:
        ignored = {key: each for key, each in keys.ignored.items() if key != TIES}
        return replace(keys, switches=(*keys.switches, Switch(TIES, default=default)), ignored=ignored)

    return Until(V4, change, "https://github.com/huggingface/transformers/pull/42815")


HEAD_DIM = Until(
    (4, 46),
    without_alias("d_kv", "head_dim"),
    "https://github.com/huggingface/transformers/blob/v4.46.0/src/transformers/models/t5/configuration_t5.py",
)


def _own_head(value: Any, dims: Dims) -> int | None:
    """V·D: the language-model head of a file that does not tie, as transformers 4 built it."""
    return int(dims.V * dims.D) if value is False else None


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=32128),
        Size("d_model", "D", default=512, aliases=("hidden_size",)),
        Size("num_layers", "L", default=6, repeats=True, aliases=("num_hidden_layers",)),
        Size("num_decoder_layers", "Ld", default=None, repeats=True),
        Size("num_heads", "A", default=8, aliases=("num_attention_heads",)),
        Size("d_kv", "K", default=64, aliases=("head_dim",)),
        Size("d_ff", "I", default=2048),
        Size("relative_attention_num_buckets", "B", default=32),
    ),
    switches=(Switch("is_decoder", default=False), Switch("is_gated_act", default=False)),
    choices=(
        Choice("feed_forward_proj", "relu", ACTIVATIONS | {f"gated-{each}" for each in ACTIVATIONS}),
        hidden_act("relu", key="dense_act_fn"),
    ),
    ignored={
        TIES: Ignored(
            (True,),
            because="transformers ≥ 5 always ties the head of this family",
            cost=_own_head,
            only=("ForConditionalGeneration",),
        )
    },
    inert=frozenset(
        {"dropout_rate", "layer_norm_epsilon", "initializer_factor", "relative_attention_max_distance"}
        | {"add_cross_attention", "n_positions", "scale_decoder_outputs"}
    ),
    until=(honoured(default=True), HEAD_DIM),
)

FAMILY = Deriving("t5", KEYS, architectures("T5"), derived("relu", layers=6))
