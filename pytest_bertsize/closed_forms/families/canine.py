"""CANINE (Clark et al. 2021, arXiv 2103.06874): BERT over characters, by hashes of them and fewer, wider positions.

H·B·(D/H) for the hashes of a character, B·D for its position, T·D and 2·D; BERT's layers over characters taken R at a
time, between two more layers over single ones; R·D² + 3·D of a convolution ahead of them, 2·K·D² + 3·D of one behind.
"""

from pytest_bertsize.closed_forms.declare import family, fill, keys
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import relative_positions
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, PRUNED_HEADS
from pytest_bertsize.config.keys import Ignored, Rule

BODY = """
char_embeddings
  HashBucketCodepointEmbedder_* × H   embedding B D//H      @embeddings.character
  char_position_embeddings          embedding B D           @embeddings.position
  token_type_embeddings             embedding T D           @embeddings.token_type
  LayerNorm                         layer_norm D            @embeddings.norm
initial_char_encoder.layer × 1
  <layer>
chars_to_molecules                                          @encoder.convolution
  conv                              conv1d D D R
  activation                        activation hidden_act
  LayerNorm                         layer_norm D            @encoder.norm
encoder.layer × L
  <layer>
projection                                                  @encoder.convolution
  conv                              conv1d 2*D D K
  activation                        activation hidden_act
  LayerNorm                         layer_norm D            @encoder.norm
final_char_encoder.layer × 1
  <layer>
<pooler>
"""

MOST_HASHES = 16
"""As many functions as the class has: with more it is built, and fails at the first character."""
ENOUGH_HASHES = Rule(
    ("num_hash_functions",),
    lambda values: values["num_hash_functions"] <= MOST_HASHES,
    f"num_hash_functions is {{num_hash_functions:,}}, and the class has {MOST_HASHES}",
    f"write {MOST_HASHES} or fewer",
)
KEYS = keys(
    "D 768, L 12 layers from 0, A 12, I 3072, T 16, H num_hash_functions 8, B num_hash_buckets 16384,"
    "R downsampling_rate 4, K upsampling_kernel_size 4",
    activations="hidden_act gelu",
    divisible=(("hidden_size", "num_attention_heads"),),
    rules=(ENOUGH_HASHES,),
    ignored={
        "max_position_embeddings": Ignored((16384,), because="there are as many positions as num_hash_buckets"),
        "vocab_size": Ignored(because="characters are hashed: there is no vocabulary"),
        "position_embedding_type": Ignored(("absolute",)),
        "pruned_heads": PRUNED_HEADS,
        "embedding_size": Ignored((None,), because="this family has one width throughout"),
        "add_pooling_layer": ADD_POOLING_LAYER,
        "add_cross_attention": bert.ENCODER_KEYS.ignored["add_cross_attention"],
    },
    until=(relative_positions.REFUSED,),
)

CLASSES = """
CanineModel                       body(pooler=add_pooling_layer)   option add_pooling_layer=True
CanineForSequenceClassification   canine.body(pooler) + classifier
CanineForMultipleChoice           canine.body(pooler) + choice
CanineForTokenClassification      canine.body(pooler) + classifier
CanineForQuestionAnswering        canine.body(pooler) + span
"""

FAMILY = family(
    "canine", KEYS, CLASSES, body=fill(BODY, layer=f"{bert.ATTENTION}{bert.FEED_FORWARD}", pooler=bert.POOLER)
)
