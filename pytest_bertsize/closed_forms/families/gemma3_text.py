"""Gemma 3 (Gemma Team 2025, arXiv 2503.19786), its text model: Gemma 2 with norms on queries and keys."""

from __future__ import annotations

from dataclasses import replace

from pytest_bertsize.closed_forms.families import gemma2, qwen3
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import decoder

GEMMA3 = decoder.Decoder(qwen3.attention, gemma2.feed_forward, gemma2.AROUND_EACH)

KEYS = replace(
    gemma2.KEYS.but(vocab_size=262208),
    switches=tuple(each for each in gemma2.KEYS.switches if each is not decoder.HAS_TOKEN_BIAS),
    until=(),
    inert=gemma2.KEYS.inert | {"sliding_window_pattern", "rope_local_base_freq"},
)

FAMILY = Family(
    name="gemma3_text",
    keys=KEYS,
    architectures=(
        Architecture("Gemma3TextModel", GEMMA3),
        GEMMA3.causal("Gemma3ForCausalLM"),
        replace(GEMMA3.sequences("Gemma3TextForSequenceClassification"), since=(4, 57)),
    ),
    since=(4, 50),
)
