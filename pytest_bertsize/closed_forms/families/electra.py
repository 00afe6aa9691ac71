"""ELECTRA (Clark et al. 2020, arXiv 2003.10555): BERT with narrow embeddings, as generator and as discriminator.

V·E + P·E + T·E + 2·E of embeddings; where E is not D, E·D + D that widen them. L·(4·D² + 2·D·I + 9·D + I) of layers,
cross-attention adds L·(4·D² + 6·D): BERT's where the heads divide D; queries, keys and values have W = A·⌊D/A⌋ numbers.
The discriminator has D² + 2·D + 1, the generator D·E + 3·E and V of output bias, which is never tied; untied, V·E more.
"""

from pytest_bertsize.closed_forms.declare import family, fill, keys
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import heads, relative_positions
from pytest_bertsize.closed_forms.parts import sequence_summary as summary
from pytest_bertsize.config.keys import Rule

NARROW_EMBEDDINGS = """
embeddings
  word_embeddings            embedding V E   @embeddings.word
  position_embeddings        embedding P E   @embeddings.position
  token_type_embeddings      embedding T E   @embeddings.token_type
  LayerNorm                  layer_norm E    @embeddings.norm
"""
EMBEDDINGS = f"{NARROW_EMBEDDINGS}embeddings_project   linear E D   @embeddings.projection   when E != D\n"
LAYERS = """
W := D // A * A
encoder.layer × L
  attention                                  @encoder.attention
    self
      query, key, value      linear D W
      <distances>
    output.dense             linear D D
    output.LayerNorm         layer_norm D    @encoder.norm
  crossattention                             @encoder.cross_attention   when add_cross_attention
    self
      query, key, value      linear D W
    output.dense             linear D D
    output.LayerNorm         layer_norm D    @encoder.norm
  <feed_forward>
"""
ENCODER = fill(LAYERS, distances=relative_positions.DISTANCES, feed_forward=bert.FEED_FORWARD)
DISCRIMINATOR = """
discriminator_predictions
  dense                      linear D D              @head.transform
  activation                 activation hidden_act   @head.transform
  dense_prediction           linear D 1              @head.classifier
"""
WORDS = "electra.embeddings.word_embeddings.weight"
GENERATOR = f"""
generator_predictions                        @head.transform
  dense                      linear D E
  LayerNorm                  layer_norm E
{heads.projection("generator_lm_head", WORDS, width="E", bias="True")}
"""

HEADS_HAVE_WIDTH = Rule(
    ("num_attention_heads", "hidden_size"),
    lambda values: values["num_attention_heads"] <= values["hidden_size"],
    "num_attention_heads is {num_attention_heads:,}, more than hidden_size {hidden_size:,}: "
    "no width is left for a head",
    "write {hidden_size:,} or fewer",
)
"""The class divides by the root of a head's width."""
KEYS = keys(
    "V 30522, E 128, D 256, L 12 layers from 0, A 4, I 1024, P 512, T 2",
    switches="is_decoder false, add_cross_attention false needs is_decoder, tie_word_embeddings true,"
    "summary_use_proj true, summary_proj_to_labels false",
    activations="hidden_act gelu",
    choices=summary.choices("first", "gelu"),
    rules=(HEADS_HAVE_WIDTH,),
    ignored="position_embedding_type, pruned_heads",
    until=(relative_positions.READ,),
)

CLASSES = """
ElectraModel                       body
ElectraForPreTraining              electra.body + discriminator
ElectraForMaskedLM                 electra.body + generator
ElectraForCausalLM                 electra.body + generator
ElectraForSequenceClassification   electra.body + dense_classifier
ElectraForTokenClassification      electra.body + classifier
ElectraForQuestionAnswering        electra.body + span
ElectraForMultipleChoice           electra.body + summary + choice
"""

FAMILY = family(
    "electra",
    KEYS,
    CLASSES,
    body=EMBEDDINGS + ENCODER,
    discriminator=DISCRIMINATOR,
    generator=GENERATOR,
    rules={"ElectraForMultipleChoice": (summary.NO_ATTENTION,)},
)
