"""ELECTRA (Clark et al. 2020, arXiv 2003.10555): BERT with narrow embeddings, as generator and as discriminator.

If the number of heads does not divide D, queries, keys and values have the width A·⌊D/A⌋. The generator's bias is never
tied.
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
    *Model, *ForMaskedLM, *ForCausalLM, *ForTokenClassification, *ForQuestionAnswering
    *ForPreTraining              electra.body + discriminator
    *ForSequenceClassification   electra.body + dense_classifier
    *ForMultipleChoice           electra.body + summary + choice
    """,
    embeddings_width="E",
    projections="query, key, value   linear D D//A*A",
    after_embeddings="embeddings_project   linear E D   @embeddings.projection   when E != D",
    pooler="",
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
