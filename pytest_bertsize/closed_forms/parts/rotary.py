"""Rules of models with rotary positions, which turn pairs of numbers (Su et al. 2021, arXiv 2104.09864).

The width of a head may be odd up to four: the library does not check models that are as small as in its tests.
"""

PADS_WITHIN = """
get(pad_token_id, 0) < vocab_size
  pad_token_id {pad_token_id:,} is outside the vocabulary of {vocab_size:,}: the class refuses it
  write the index of the padding token
"""
"""The rule of families whose default ``pad_token_id`` in the library is an index of a large vocabulary."""
SOME_WIDTH = """
num_attention_heads: head_dim != None or num_attention_heads <= hidden_size
  num_attention_heads is {num_attention_heads:,}, more than hidden_size {hidden_size:,}: each head has width 0
  write {hidden_size:,} or fewer
"""
EVEN_HEAD_DIM = """
head_dim == None or head_dim % 2 == 0 or head_dim <= 4
  head_dim is {head_dim:,}, an odd number, which the class refuses: rotary positions turn pairs
  write an even number
"""
EVEN_HEADS = """
hidden_size: head_dim != None or hidden_size // num_attention_heads % 2 == 0 or hidden_size // num_attention_heads <= 4
  hidden_size {hidden_size:,} has an odd width for each of {num_attention_heads:,} heads, which the class refuses: \
rotary positions turn pairs
  write {num_attention_heads:,} times an even number
"""
"""The rule of families whose config class derives a missing ``head_dim``."""
