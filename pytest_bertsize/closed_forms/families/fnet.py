"""FNet (Lee-Thorp et al. 2021, arXiv 2105.03824): BERT with a Fourier transform for attention: nothing to learn.

BERT's embeddings, and D² + D of a projection, though it goes from D to D; L·(2·D·I + 5·D + I) of layers; with a pooler,
D² + D more.
"""

from pytest_bertsize.closed_forms.declare import family, keys
from pytest_bertsize.closed_forms.families import bert

FNET = family(
    "fnet",
    keys(
        "V 32000, D 768, L 12 layers from 0, I 3072, P 512, T 4",
        switches="tie_word_embeddings true",
        activations="hidden_act gelu_new",
        ignored="""
        num_attention_heads: this family has no attention
        add_cross_attention [false]: this family has no attention
        embedding_size, add_pooling_layer
        """,
    ),
    """
    FNetModel                       body(pooler=add_pooling_layer)   option add_pooling_layer=True
    FNetForPreTraining              fnet.body(pooler) + masked_lm + next_sentence
    FNetForMaskedLM                 fnet.body(pooler) + masked_lm
    FNetForNextSentencePrediction   fnet.body(pooler) + next_sentence
    FNetForSequenceClassification   fnet.body(pooler) + classifier
    FNetForMultipleChoice           fnet.body(pooler) + choice
    FNetForTokenClassification      fnet.body(pooler) + classifier
    FNetForQuestionAnswering        fnet.body(pooler) + span
    """,
    bert.PARTS,
    body="""
    <embeddings>
    embeddings.projection        linear D D      @embeddings.projection
    encoder.layer × L
      fourier.output.LayerNorm   layer_norm D    @encoder.norm
      <feed_forward>
    <pooler>
    """,
)
