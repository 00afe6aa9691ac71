"""T5 (Raffel et al. 2019, arXiv 1910.10683): an encoder and a decoder without biases, with relative positions.

V·D + L·(4·D·A·K + 2·D·I + 2·D) + B·A + D for each stack, where the width K of a head is its own and not D/A. A gated
feed-forward part has 3·D·I (Shazeer 2020, arXiv 2002.05202); cross-attention adds L·(4·D·A·K + D). The first layer of a
stack has a table of distances for all: a row for each of B buckets, a number for each head.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pytest_bertsize.closed_forms.declare import family, fill, keys, read_switches
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import Choice, ConfigKeys, Ignored, Until
from pytest_bertsize.config.older_releases import V4, without_alias
from pytest_bertsize.config.vocabulary import ACTIVATIONS

TIES = "tie_word_embeddings"
STACK = """
{stack}
  embed_tokens                               embedding V D              @embeddings.word     tied weight=~shared.weight
  <first>
  block × {layers}
    <each>
    layer.0.SelfAttention                                               @{stack}.attention
      q, k, v                                linear D A*K bias=False
      o                                      linear A*K D bias=False
    layer.0.layer_norm                       rms_norm D                 @{stack}.norm
    layer.1.EncDecAttention                                             @{stack}.cross_attention   when {crosses}
      q, k, v                                linear D A*K bias=False
      o                                      linear A*K D bias=False
    layer.1.layer_norm                       rms_norm D                 @{stack}.norm   when {crosses}
    layer.{last}.DenseReluDense                                         @{stack}.feed_forward
      wi                                     linear D I bias=False      when not is_gated_act
      wi_0, wi_1                             linear D I bias=False      when is_gated_act
      wo                                     linear I D bias=False
      act                                    activation dense_act_fn
    layer.{last}.layer_norm                  rms_norm D                 @{stack}.norm
  final_layer_norm                           rms_norm D                 @{stack}.norm
"""
DISTANCES = "layer.0.SelfAttention.relative_attention_bias   embedding B A   @{stack}.relative_position"
SHARED = "shared   embedding V D   @embeddings.word\n"
LM_HEAD = f"lm_head   linear D V bias=False   @head.decoder   tied weight=shared.weight if get({TIES}, True)"
"""Nothing: it is always tied; in transformers 4, V·D where the config says so."""


def trees(*, in_each: bool = False) -> dict[str, str]:
    """Return T5's bodies and heads.

    :param in_each: whether each layer has a table of distances of its own, and not the first for all of them.
    """
    tables = {"each": DISTANCES, "first": ""} if in_each else {"each": "", "first": f"block.0.{DISTANCES}"}
    stack = fill(STACK, **tables)
    encoder = fill(stack, stack="encoder", layers="L", crosses="False", last="1")
    decoder = fill(stack, stack="decoder", layers="get(Ld,L)", crosses="True", last="2")
    reader = fill(stack, stack="encoder", layers="L", crosses="False", last="1")
    writer = fill(stack, stack="encoder", layers="L", crosses="True", last="2")
    return {
        "both": f"{SHARED}{encoder}{decoder}",
        "alone": f"{SHARED}-   when not is_decoder\n{_inside(reader)}-   when is_decoder\n{_inside(writer)}",
        "lm_head": LM_HEAD,
    }


def _inside(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines() if line.strip())


CLASSES = """
*Model                       both
*ForConditionalGeneration    both + lm_head
*EncoderModel                alone
*ForSequenceClassification   transformer.both + classification_head
*ForTokenClassification      transformer.alone + classifier
*ForQuestionAnswering        both + span
"""


def derived(projection: str, layers: int) -> Callable[[Mapping[str, object]], dict[str, object]]:
    """Return what the config class makes of other keys, unless the file says it itself.

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


def honoured(*, default: bool) -> Until:
    """Return the change of transformers 5, before which the config says whether the head is tied.

    :param default: of the family's config class.
    """

    def change(before: ConfigKeys) -> ConfigKeys:
        ignored = {key: each for key, each in before.ignored.items() if key != TIES}
        ties = read_switches(f"{TIES} {str(default).lower()}")
        return replace(before, switches=(*before.switches, *ties), ignored=ignored)

    return Until(V4, change, "https://github.com/huggingface/transformers/pull/42815")


def _own_head(value: Any, dims: Dims) -> int | None:
    """V·D: the language-model head of a file that does not tie, as transformers 4 built it."""
    return int(dims.V * dims.D) if value is False else None


HEAD_DIM = Until(
    (4, 46),
    without_alias("d_kv", "head_dim"),
    "https://github.com/huggingface/transformers/blob/v4.46.0/src/transformers/models/t5/configuration_t5.py",
)
ALWAYS_TIED = Ignored(
    (True,),
    because="transformers ≥ 5 always ties the head of this family",
    cost=_own_head,
    only=("ForConditionalGeneration",),
)
KEYS = keys(
    "V 32128, D d_model 512 or hidden_size, L num_layers 6 layers or num_hidden_layers,"
    "Ld num_decoder_layers none layers, A num_heads 8 or num_attention_heads, K d_kv 64 or head_dim, I d_ff 2048,"
    "B relative_attention_num_buckets 32",
    switches="is_decoder false, is_gated_act false",
    choices=(Choice("feed_forward_proj", "relu", ACTIVATIONS | {f"gated-{each}" for each in ACTIVATIONS}),),
    activations="dense_act_fn relu",
    ignored={TIES: ALWAYS_TIED},
    until=(honoured(default=True), HEAD_DIM),
)

FAMILY = family("t5", KEYS, CLASSES.replace("*", "T5"), trees(), derive=derived("relu", layers=6))
