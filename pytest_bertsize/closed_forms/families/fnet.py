"""FNet (Lee-Thorp et al. 2021, arXiv 2105.03824): BERT whose attention is a Fourier transform, without parameters."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT

FNET = family(
    "fnet",
    sizes="V 32000, D 768, L 12 layers from 0, I 3072, P 512, T 4",
    switches="tie_word_embeddings true",
    activations="hidden_act gelu_new",
    ignored="""
    num_attention_heads: this family has no attention
    add_cross_attention [false]: this family has no attention
    embedding_size, add_pooling_layer
    """,
    classes="""
    *Model, *ForPreTraining
    *ForMaskedLM              fnet.body(pooler) + masked_lm
    *ForNextSentencePrediction, *ForSequenceClassification, *ForMultipleChoice
    *ForTokenClassification   fnet.body(pooler) + classifier
    *ForQuestionAnswering     fnet.body(pooler) + span
    """,
    stem="FNet",
    trees=BERT.trees,
    embeddings_norm="""
    LayerNorm                  layer_norm D    @embeddings.norm
    projection                 linear D D      @embeddings.projection
    """,
    layer="""
    fourier.output.LayerNorm   layer_norm D    @encoder.norm
    <feed_forward>
    """,
)
