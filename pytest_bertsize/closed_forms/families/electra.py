"""ELECTRA (Clark et al. 2020, arXiv 2003.10555): BERT with narrow embeddings, as generator and as discriminator.

Embeddings have V·E + P·E + T·E + 2·E, and E·D + D to widen them if E is not D. If the number of heads divides D, layers
are BERT's, L·(4·D² + 2·D·I + 9·D + I), and cross-attention adds L·(4·D² + 6·D); if not, queries, keys and values have
the width W = A·⌊D/A⌋. The discriminator has D² + 2·D + 1, the generator D·E + 3·E and V of output bias, which is never
tied; untied words add V·E.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads

ELECTRA = family(
    "electra",
    "bert",
    sizes="E 128, D 256, A 4, I 1024",
    divisible=(),
    switches="summary_use_proj true, summary_proj_to_labels false",
    choices=heads.summary_choices("first", "gelu"),
    rules="HEADS_HAVE_WIDTH",
    ignored="only position_embedding_type, pruned_heads",
    classes="""
    *Model
    *ForPreTraining              electra.body + discriminator
    *ForMaskedLM, *ForCausalLM
    *ForSequenceClassification   electra.body + dense_classifier
    *ForTokenClassification, *ForQuestionAnswering
    *ForMultipleChoice           electra.body + summary + choice
    """,
    embeddings_width="E",
    W="D//A*A",
    body="""
    <embeddings>
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
