"""Gemma (Gemma Team 2024, arXiv 2403.08295): Llama with heads of their own width, tied to its word embeddings."""

from pytest_bertsize.closed_forms.declare import extend, family, keys
from pytest_bertsize.closed_forms.families import llama
from pytest_bertsize.closed_forms.parts import rotary
from pytest_bertsize.config.keys import Index, hidden_act
from pytest_bertsize.config.older_releases import before, replaced

TANH = "gelu_pytorch_tanh"
EVEN = (("hidden_size", "num_attention_heads"),)
KEYS = keys(
    "V 256000, D 3072, L 28 layers from 0, A 16, Q 16, S 256, I 24576",
    switches="attention_bias false, tie_word_embeddings true, token_classification_bias true",
    choices=(hidden_act(TANH)._replace(taken_for={"gelu": TANH}),),
    indices=(Index("pad_token_id", 0),),
    rules=rotary.PADS_WITHIN + rotary.EVEN_HEAD_DIM,
    ignored=llama.IGNORED,
    until=(
        before("5.18.0", replaced(choices=(hidden_act(TANH),)), "gemma", "configuration"),
        llama.NO_TOKEN_BIAS,
        before("4.48.0", replaced(divisible=EVEN), "gemma"),
    ),
)
"""The first files say ``"gelu"`` and mean its approximation, which the config class puts there; neither learns."""
BIASES = {"bias": "attention_bias", "last_bias": "attention_bias"}
GEMMA = family("gemma", KEYS, llama.CLASSES, {**llama.PARTS, **BIASES}, stem="Gemma")

GEMMA2_KEYS = extend(
    KEYS,
    "D 2304, L 26, A 8, Q 4, I 9216",
    activations=f"hidden_activation {TANH}",
    divisible=EVEN,
    until=(llama.NO_TOKEN_BIAS,),
)
PARTS = {
    **llama.PARTS,
    **BIASES,
    "activation": "hidden_activation",
    "norms": f"""
    {llama.PARTS["norms"]}
    pre_feedforward_layernorm, post_feedforward_layernorm   rms_norm D   @decoder.norm
    """,
}
GEMMA2 = family("gemma2", GEMMA2_KEYS, llama.CLASSES, PARTS, stem="Gemma2", since=(4, 42))
"""Gemma 2 (Gemma Team 2024, arXiv 2408.00118): Gemma with a norm behind attention and feed-forward, too."""

GEMMA3_TEXT = family(
    "gemma3_text",
    extend(GEMMA2_KEYS, "V 262208", switches="only attention_bias false, tie_word_embeddings true", until=()),
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
