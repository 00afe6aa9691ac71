"""Funnel Transformer (Dai et al. 2020, arXiv 2006.03236): an encoder that halves its sequence from block to block.

Only attention uses positions and segments. ``block_repeats`` is the number of passes through each block of layers; the
decoder has Ld layers more, at the full length of the sequence.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.tree import fill
from pytest_bertsize.config.keys import Choice, Listing

LAYER = """
attention                                              @{part}.attention
  q_head                     linear D A*H bias=False
  k_head, v_head             linear D A*H
  post_proj                  linear A*H D
  r_w_bias, r_r_bias         parameter A H             @{part}.relative_position
  r_kernel                   parameter D A H           @{part}.relative_position
  r_s_bias                   parameter A H             @{part}.relative_segment
  seg_embed                  parameter 2 A H           @{part}.relative_segment
  layer_norm                 layer_norm D              @{part}.norm
ffn                                                    @{part}.feed_forward
  linear_1                   linear D I
  activation_function        activation hidden_act
  linear_2                   linear I D
  layer_norm                 layer_norm D              @{part}.norm
"""
TWO_LAYERS = """
classifier                   @head.classifier
  linear_hidden              linear D D
  linear_out                 linear D C
"""

FUNNEL = family(
    "funnel",
    sizes="V 30522, D d_model 768 or hidden_size, A n_head 12 or num_attention_heads, H d_head 64, I d_inner 3072,"
    "Ld num_decoder_layers 2 layers from 0",
    switches="tie_word_embeddings true",
    activations="hidden_act gelu_new",
    choices=(
        Choice("pooling_type", "mean", ("max", "mean")),
        Choice("attention_type", "relative_shift", ("factorized", "relative_shift")),
    ),
    lists=(
        Listing("block_sizes", (4, 4, 4), int, may_be_empty=False),
        Listing("block_repeats", (), int, as_long_as="block_sizes", may_be_empty=False),
    ),
    rules="""
    len(block_repeats) == len(block_sizes)
      block_repeats {block_repeats} and block_sizes {block_sizes} differ in length
      write one number of passes for each block, 1 if its layers do not repeat
    """,
    ignored="""
    embedding_size, add_cross_attention
    num_hidden_layers, num_blocks: block_sizes sets the numbers of blocks and layers -> write block_sizes
    max_position_embeddings [512]: positions are relative: there is no table of them
    type_vocab_size [3]: two segments are the same or not: there is no table of them
    """,
    classes="""
    FunnelModel, FunnelForMaskedLM, FunnelForTokenClassification, FunnelForQuestionAnswering
    FunnelBaseModel                   base
    FunnelForPreTraining              funnel.body + discriminator
    FunnelForSequenceClassification   funnel.base + two_layers
    FunnelForMultipleChoice           funnel.base + choice
    """,
    body="""
    <base>
    decoder.layers × Ld
      <decoder>
    """,
    base="""
    embeddings.word_embeddings   embedding V D             @embeddings.word
    embeddings.layer_norm        layer_norm D              @embeddings.norm
    encoder.blocks.{i} × size    passes size*block_repeats[i]   for i, size in enumerate(block_sizes)
      <encoder>
    """,
    encoder=fill(LAYER, part="encoder"),
    decoder=fill(LAYER, part="decoder"),
    discriminator="""
    discriminator_predictions    @head.classifier
      dense                      linear D D
      dense_prediction           linear D 1
    """,
    lm_head=heads.projection("lm_head", "funnel.embeddings.word_embeddings.weight", bias="True"),
    two_layers=TWO_LAYERS,
    choice=TWO_LAYERS.replace("D C", "D 1"),
)
