"""BERT (Devlin et al. 2018, arXiv 1810.04805).

V·D + P·D + T·D + 2·D of embeddings; L·(4·D² + 2·D·I + 9·D + I) of layers, cross-attention adds L·(4·D² + 6·D); with a
pooler, D² + D more.
"""

from typing import Any

from pytest_bertsize.closed_forms.declare import extend, family, fill, keys, read_switches
from pytest_bertsize.closed_forms.parts import heads, relative_positions
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION, UNUSED_KEYS
from pytest_bertsize.config.dims import Dims

EMBEDDINGS = """
embeddings
  word_embeddings            embedding V D   @embeddings.word
  position_embeddings        embedding P D   @embeddings.position
  token_type_embeddings      embedding T D   @embeddings.token_type
  LayerNorm                  layer_norm D    @embeddings.norm
"""
FEED_FORWARD = """
intermediate                                 @encoder.feed_forward
  dense                      linear D I
  intermediate_act_fn        activation hidden_act
output.dense                 linear I D      @encoder.feed_forward
output.LayerNorm             layer_norm D    @encoder.norm
"""
SELF_ATTENTION = """
attention                                    @encoder.attention
  self
    query, key, value        linear D D
    <distances>
  output.dense               linear D D
  output.LayerNorm           layer_norm D    @encoder.norm
"""
CROSS_ATTENTION = """
crossattention                               @encoder.cross_attention  when add_cross_attention
  self
    query, key, value        linear D D
  output.dense               linear D D
  output.LayerNorm           layer_norm D    @encoder.norm
"""
POOLER = "pooler.dense       linear D D      @pooler  when pooler"
"""BERT's pooler, in the classes that ask for it."""
BODY = """
<embeddings>
encoder.layer × L
  <attention>
  <crossattention>
  <feed_forward>
<pooler>
"""
ATTENTION = fill(SELF_ATTENTION, distances=relative_positions.DISTANCES)
_PARTS = {
    "embeddings": EMBEDDINGS,
    "attention": ATTENTION,
    "feed_forward": FEED_FORWARD,
    "pooler": POOLER,
}
BERT = fill(BODY, crossattention=CROSS_ATTENTION, **_PARTS)
ENCODER = fill(BODY, crossattention="<more>", **_PARTS)
"""BERT that never decodes; a family may have ``more`` in each layer."""

CLASSES = """
*Model                       body(pooler=add_pooling_layer)   option add_pooling_layer=True
*ForPreTraining              {name}.body(pooler) + masked_lm + next_sentence
*ForMaskedLM                 {name}.body + masked_lm
*{causal}                    {name}.body + masked_lm
*ForNextSentencePrediction   {name}.body(pooler) + next_sentence
*ForSequenceClassification   {name}.body(pooler) + classifier
*ForMultipleChoice           {name}.body(pooler) + choice
*ForTokenClassification      {name}.body + classifier
*ForQuestionAnswering        {name}.body + span
"""


def trees(name: str, body: str = BERT) -> dict[str, str]:
    """Return the body of a family that has BERT's classes, and their heads."""
    return {
        "body": body,
        "masked_lm": heads.masked_lm(f"{name}.embeddings.word_embeddings.weight"),
    }


KEYS = keys(
    "V 30522, D 768, L 12 layers from 0, A 12, I 3072, P 512, T 2",
    switches="is_decoder false, add_cross_attention false needs is_decoder, tie_word_embeddings true",
    activations="hidden_act gelu",
    divisible=(("hidden_size", "num_attention_heads"),),
    ignored=UNUSED_KEYS,
    until=(relative_positions.READ,),
)


def _cross_attention(value: Any, dims: Dims) -> int | None:
    """L·(4·D² + 6·D): projections and a norm in every layer of BERT."""
    return int(dims.L * (4 * dims.D * dims.D + 6 * dims.D)) if value is True else None


ENCODER_KEYS = extend(
    KEYS,
    switches=read_switches("tie_word_embeddings true"),
    more_ignored={"add_cross_attention": ADD_CROSS_ATTENTION._replace(cost=_cross_attention)},
    until=(),
)
"""Of families that are BERT, perhaps with more in its layers, and never decode."""

FAMILY = family("bert", KEYS, fill(CLASSES, name="bert", causal="LMHeadModel").replace("*", "Bert"), trees("bert"))
