"""RoBERTa-PreLayerNorm (Wettig et al. 2022, arXiv 2202.08005): RoBERTa whose layers norm what comes in.

BERT, and 2·D of norm after the last layer.
"""

from pytest_bertsize.closed_forms.declare import family, fill
from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.parts import relative_positions

NORMS_FIRST = """
embeddings
  word_embeddings            embedding V D   @embeddings.word
  position_embeddings        embedding P D   @embeddings.position
  token_type_embeddings      embedding T D   @embeddings.token_type
  <norm>
encoder.layer × L
  attention                                  @encoder.attention
    {before_attention}       layer_norm D    @encoder.norm
    self
      query, key, value      linear D D
      <distances>
    output.dense             linear D D
  crossattention                             @encoder.cross_attention  when add_cross_attention
    {before_attention}       layer_norm D    @encoder.norm
    self
      query, key, value      linear D D
      <across>
    output.dense             linear D D
  {before_feed_forward}      layer_norm D    @encoder.norm
  intermediate                               @encoder.feed_forward
    dense                    linear D I
    intermediate_act_fn      activation hidden_act
  output.dense               linear I D      @encoder.feed_forward
{after_encoder}              layer_norm D    @encoder.norm
<pooler>
"""


def norms_first(**parts: str) -> str:
    """Return BERT's body with norms before attention and before the feed-forward part, and after the last layer.

    :param parts: names of these norms; ``norm`` of the embeddings and distances ``across``, where a family has them.
    """
    rest = {"norm": "", "distances": relative_positions.DISTANCES, "across": "", "pooler": bert.POOLER}
    return fill(NORMS_FIRST, **{**rest, **parts})


BODY = norms_first(
    norm="LayerNorm   layer_norm D   @embeddings.norm",
    before_attention="LayerNorm",
    before_feed_forward="intermediate.LayerNorm",
    after_encoder="LayerNorm",
)

FAMILY = family(
    "roberta-prelayernorm",
    roberta.KEYS,
    roberta.classes("RobertaPreLayerNorm", "roberta_prelayernorm"),
    roberta.trees("roberta_prelayernorm", BODY),
)
