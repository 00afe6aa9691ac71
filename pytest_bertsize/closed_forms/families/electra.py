"""ELECTRA (Clark et al. 2020, arXiv 2003.10555): BERT with narrow embeddings, as generator and as discriminator.

Embeddings have V·E + P·E + T·E + 2·E, and E·D + D to widen them if E is not D. If the number of heads divides D, layers
are BERT's, L·(4·D² + 2·D·I + 9·D + I), and cross-attention adds L·(4·D² + 6·D); if not, queries, keys and values have
the width W = A·⌊D/A⌋. The discriminator has D² + 2·D + 1, the generator D·E + 3·E and V of output bias, which is never
tied; untied words add V·E.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT
from pytest_bertsize.closed_forms.parts import heads, positions

HEADS_HAVE_WIDTH = """
num_attention_heads <= hidden_size
  num_attention_heads is {num_attention_heads:,}, more than hidden_size {hidden_size:,}: each head has width 0
  write {hidden_size:,} or fewer
"""
"""The rule of classes that divide by the square root of a head's width, which must not be zero."""

ELECTRA = family(
    "electra",
    sizes="V 30522, E 128, D 256, L 12 layers from 0, A 4, I 1024, P 512, T 2",
    switches="is_decoder false, add_cross_attention false needs is_decoder, tie_word_embeddings true,"
    "summary_use_proj true, summary_proj_to_labels false",
    activations="hidden_act gelu",
    choices=heads.summary_choices("first", "gelu"),
    rules=HEADS_HAVE_WIDTH,
    ignored="position_embedding_type, pruned_heads",
    until=(positions.READ,),
    classes="""
    *Model
    *ForPreTraining              electra.body + discriminator
    *ForMaskedLM, *ForCausalLM
    *ForSequenceClassification   electra.body + dense_classifier
    *ForTokenClassification, *ForQuestionAnswering
    *ForMultipleChoice           electra.body + summary + choice
    """,
    stem="Electra",
    trees=BERT.trees,
    narrow_embeddings=BERT.trees["embeddings"].replace(" D ", " E "),
    layers="""
    encoder.layer × L
      <attention>
      <crossattention>
      <feed_forward>
    """,
    W="D//A*A",
    body="""
    <narrow_embeddings>
    embeddings_project         linear E D              @embeddings.projection   when E != D
    <layers>
    """,
    lm_head=f"""
    generator_predictions                              @head.transform
      dense                    linear D E
      LayerNorm                layer_norm E
    {heads.projection("generator_lm_head", "{under}.embeddings.word_embeddings.weight", width="E", bias="True")}
    """,
    discriminator="""
    discriminator_predictions
      dense                    linear D D              @head.transform
      activation               activation hidden_act   @head.transform
      dense_prediction         linear D 1              @head.classifier
    """,
)
