"""MobileBERT (Sun et al. 2020, arXiv 2004.02984): a deep BERT with a bottleneck in each layer.

The inner width N of a layer is ``true_hidden_size`` if the config has one, else B, or D without a bottleneck. The
decoder is the word embeddings, widened from E to D by a matrix of its own.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Choice
from pytest_bertsize.config.older_releases import before, without

MOBILEBERT = family(
    "mobilebert",
    sizes="V 30522, E 128, D 512, L 24 layers from 0, A 4, B intra_bottleneck_size 128, H true_hidden_size none, I 512,"
    "F num_feedforward_networks 4 layers, P 512, T 2",
    switches="trigram_input true, use_bottleneck true, use_bottleneck_attention false,"
    "key_query_shared_bottleneck true, classifier_activation true, tie_word_embeddings true",
    activations="hidden_act relu",
    choices=(Choice("normalization_type", "no_norm", ("no_norm", "layer_norm")),),
    rules="""
    num_attention_heads <= get(true_hidden_size, intra_bottleneck_size if use_bottleneck else hidden_size)
      num_attention_heads is {num_attention_heads:,}, more than the inner width of a layer: each head has width 0
      write fewer
    """,
    ignored="PLAIN, add_cross_attention, add_pooling_layer",
    until=(before("5.4.0", without("true_hidden_size"), "mobilebert", "configuration"),),
    classes=BERT.classes.replace("*{causal}, ", ""),
    stem="MobileBert",
    body="""
    N := get(H, B if use_bottleneck else D)
    W := N // A * A
    embeddings
      word_embeddings            embedding V E        @embeddings.word
      position_embeddings        embedding P D        @embeddings.position
      token_type_embeddings      embedding T D        @embeddings.token_type
      embedding_transformation   linear (3*E if trigram_input else E) D   @embeddings.projection
      LayerNorm                  layer_norm D         @embeddings.norm
    encoder.layer × L
      attention                                       @encoder.attention
        self.query, self.key     linear N W
        self.value               linear (N if use_bottleneck_attention else D) W
        output.dense             linear N N
        output.LayerNorm         layer_norm N         @encoder.norm
      <network>
      ffn × F-1
        <network>
      -                                               @encoder.bottleneck   when use_bottleneck
        bottleneck.input
          <squeeze>
        bottleneck.attention                          when key_query_shared_bottleneck
          <squeeze>
        output.bottleneck
          dense                  linear N D
          LayerNorm              layer_norm D         @encoder.norm
    pooler.dense                 linear D D           @pooler   when pooler and classifier_activation
    """,
    network=BERT.trees["feed_forward"].replace("D", "N"),
    feed_forward_norm="output.LayerNorm",
    squeeze="""
    dense                        linear D B
    LayerNorm                    layer_norm B         @encoder.norm
    """,
    masked_lm=f"""
    cls.predictions
      bias                       parameter V          @head.decoder
      transform                                       @head.transform
        dense                    linear D D
        transform_act_fn         activation hidden_act
        LayerNorm                layer_norm D
      dense                      linear V D-E bias=False   @head.decoder
      {heads.decoder("cls.predictions.bias", width="E")}
    """,
    tree_rules={
        "masked_lm": """
        embedding_size <= hidden_size
          embedding_size is {embedding_size:,}, more than hidden_size {hidden_size:,}: the class refuses that
          write {hidden_size:,} or less
        """
    },
)
