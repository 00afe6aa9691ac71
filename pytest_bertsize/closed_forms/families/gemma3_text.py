"""Gemma 3 (Gemma Team 2025, arXiv 2503.19786), its text model: Gemma 2 with norms on queries and keys."""

from pytest_bertsize.closed_forms.declare import extend, family, read_switches
from pytest_bertsize.closed_forms.families import gemma2
from pytest_bertsize.closed_forms.parts import decoder

KEYS = extend(
    gemma2.KEYS, "V 262208", switches=read_switches("attention_bias false, tie_word_embeddings true"), until=()
)

CLASSES = """
Gemma3TextModel                       body
Gemma3ForCausalLM                     model.body + lm_head
Gemma3TextForSequenceClassification   model.body + score   since 4.57
"""

FAMILY = family(
    "gemma3_text", KEYS, CLASSES, decoder.trees(head_norms=decoder.HEAD_NORMS, **gemma2.PARTS), since=(4, 50)
)
