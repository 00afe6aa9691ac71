"""Weights and tokenizers beside a config, read without loading them.

In: paths, an Inventory. Out: Stored, and findings on tensors and tokens that differ.
Entry points: ``headers``, ``differences``, ``tokenizer``.
"""
