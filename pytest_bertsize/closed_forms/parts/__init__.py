"""Parts that families share: heads, layers, rotary embeddings, and variations of a block."""
