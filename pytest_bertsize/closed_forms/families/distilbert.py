"""DistilBERT (Sanh et al. 2019, arXiv 1910.01108): half of BERT's layers, without token types or a pooler.

Embeddings have V·D + P·D + 2·D. The layers are BERT's with other names, L·(4·D² + 2·D·I + 9·D + I). A transform before
the decoder has D² + 3·D.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads

PRE_CLASSIFIER = "pre_classifier  linear D D  @head.classifier"
"""A dense layer before the classifier, in place of a pooler."""
IGNORED = """
position_embedding_type ["absolute"]
pruned_heads, add_cross_attention, embedding_size
type_vocab_size [0, null] costs value*D when is_size: this family has no token types
"""

DISTILBERT = family(
    "distilbert",
    sizes="V 30522, D dim 768 or hidden_size, L n_layers 6 layers from 0 or num_hidden_layers,"
    "A n_heads 12 or num_attention_heads divides D, I hidden_dim 3072, P 512",
    switches="tie_word_embeddings true",
    activations="activation gelu",
    ignored=IGNORED,
    classes="""
    *Model, *ForMaskedLM
    *ForSequenceClassification   distilbert.body + pre_classifier + classifier
    *ForMultipleChoice           distilbert.body + pre_classifier + choice
    *ForTokenClassification, *ForQuestionAnswering
    """,
    stem="DistilBert",
    body="""
    embeddings
      word_embeddings                     embedding V D           @embeddings.word
      position_embeddings                 embedding P D           @embeddings.position
      LayerNorm                           layer_norm D            @embeddings.norm
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
    pre_classifier=PRE_CLASSIFIER,
    tree_rules={
        "span": """
        num_labels == 2
          num_labels is {num_labels:,}, but the class requires 2: start and end of the answer
          write 2
        """
    },
)
