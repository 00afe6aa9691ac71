"""What families share: heads, layers, rotary embeddings, and how a block is varied."""
