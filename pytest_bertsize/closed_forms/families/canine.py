"""CANINE (Clark et al. 2021, arXiv 2103.06874): BERT over hashed characters, which it downsamples.

The layers are BERT's: the first and the last read single characters, and the L layers between them read groups of R
characters.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT, NO_CROSS_ATTENTION
from pytest_bertsize.closed_forms.parts import shared_keys

CANINE = family(
    "canine",
    sizes="D 768, L 12 layers from 0, A 12 divides D, I 3072, T 16, H num_hash_functions 8, B num_hash_buckets 16384,"
    "R downsampling_rate 4, K upsampling_kernel_size 4",
    activations="hidden_act gelu",
    rules="""
    num_hash_functions <= 16
      num_hash_functions is {num_hash_functions:,}, but the class has 16
      write 16 or fewer
    """,
    ignored=f"""
    max_position_embeddings [16384]: there are as many positions as num_hash_buckets
    vocab_size: characters are hashed, without a vocabulary
    position_embedding_type ["absolute"]
    pruned_heads, add_pooling_layer
    embedding_size [null]: this family has one width throughout
    {NO_CROSS_ATTENTION}
    """,
    until=(shared_keys.REFUSED,),
    classes="""
    *Model, *ForSequenceClassification, *ForMultipleChoice
    *ForTokenClassification   canine.body(pooler) + classifier
    *ForQuestionAnswering     canine.body(pooler) + span
    """,
    trees=BERT.trees,
    body="""
    char_embeddings
      HashBucketCodepointEmbedder_* × H   embedding B D//H      @embeddings.character
      char_position_embeddings            embedding B D         @embeddings.position
      token_type_embeddings               embedding T D         @embeddings.token_type
      LayerNorm                           layer_norm D          @embeddings.norm
    initial_char_encoder.layer × 1
      <layer>
    chars_to_molecules                                          @encoder.convolution
      conv                                conv1d D D R
      activation                          activation hidden_act
      LayerNorm                           layer_norm D          @encoder.norm
    encoder.layer × L
      <layer>
    projection                                                  @encoder.convolution
      conv                                conv1d 2*D D K
      activation                          activation hidden_act
      LayerNorm                           layer_norm D          @encoder.norm
    final_char_encoder.layer × 1
      <layer>
    <pooler>
    """,
)
