"""Weights and tokenizers beside a config, read without loading them.

In: paths, an Inventory. Out: Stored; a finding for each tensor and token that differs.
Doors: ``headers``, ``differences``, ``tokenizer``.
"""
