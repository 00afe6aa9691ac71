"""DistilBERT (Sanh et al. 2019, arXiv 1910.01108): half of BERT's layers, without token types or a pooler."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads

DISTILBERT = family(
    "distilbert",
    sizes="V 30522, D dim 768 or hidden_size, L n_layers 6 layers from 0 or num_hidden_layers,"
    "A n_heads 12 or num_attention_heads divides D, I hidden_dim 3072, P 512",
    switches="tie_word_embeddings true",
    activations="activation gelu",
    ignored="NO_SEGMENTS",
    classes="""
    DistilBertModel, *ForMaskedLM, *ForTokenClassification, *ForQuestionAnswering
    *ForSequenceClassification   distilbert.body + pre_classifier + classifier
    *ForMultipleChoice           distilbert.body + pre_classifier + choice
    """,
    trees="bert",
    segment_embeddings="",
    body="""
    <embeddings>
    transformer.layer × L
      attention                                                   @encoder.attention
        q_lin, k_lin, v_lin, out_lin      linear D D
      sa_layer_norm                       layer_norm D            @encoder.norm
      ffn                                                         @encoder.feed_forward
        lin1                              linear D I
        activation                        activation activation
        lin2                              linear I D
      output_layer_norm                   layer_norm D            @encoder.norm
    """,
    lm_head=f"""
    -                                                             @head.transform
      activation                          activation activation
      vocab_transform                     linear D D
      vocab_layer_norm                    layer_norm D
    {heads.projection("vocab_projector", "distilbert.embeddings.word_embeddings.weight", bias="True")}
    """,
    tree_rules={"span": "TWO_LABELS"},
)
