"""Gemma 2 (Gemma Team 2024, arXiv 2408.00118): Gemma with a norm behind attention and feed-forward, too."""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import gemma, llama

KEYS = extend(
    gemma.KEYS,
    "D 2304, L 26, A 8, Q 4, I 9216",
    activations=f"hidden_activation {gemma.TANH}",
    divisible=gemma.EVEN,
    until=(llama.NO_TOKEN_BIAS,),
)
PARTS = {
    **llama.PARTS,
    **gemma.BIASES,
    "activation": "hidden_activation",
    "norms": f"""
    {llama.PARTS["norms"]}
    pre_feedforward_layernorm, post_feedforward_layernorm   rms_norm D   @decoder.norm
    """,
}
GEMMA2 = family("gemma2", KEYS, llama.CLASSES, PARTS, stem="Gemma2", since=(4, 42))

GEMMA3_TEXT = family(
    "gemma3_text",
    extend(KEYS, "V 262208", switches="only attention_bias false, tie_word_embeddings true", until=()),
    """
    Gemma3TextModel                       body
    Gemma3ForCausalLM                     model.body + lm_head
    Gemma3TextForSequenceClassification   model.body + score   since 4.57
    """,
    PARTS,
    head_norms=llama.HEAD_NORMS,
    since=(4, 50),
)
"""Gemma 3 (Gemma Team 2025, arXiv 2503.19786), its text model: Gemma 2 with norms on queries and keys."""
