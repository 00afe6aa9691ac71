"""Gemma (Gemma Team 2024, arXiv 2403.08295): Llama with a tied decoder, and with heads of any width."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.llama import CLASSES, LLAMA, NO_TOKEN_BIAS, QWEN3
from pytest_bertsize.config.keys import hidden_act
from pytest_bertsize.config.older_releases import before, replaced

TANH = "gelu_pytorch_tanh"
EVEN = (("hidden_size", "num_attention_heads"),)
GEMMA = family(
    "gemma",
    LLAMA,
    sizes="only V 256000, D 3072, L 28 layers from 0, A 16, Q 16, S 256, I 24576",
    switches="only attention_bias false, tie_word_embeddings true, token_classification_bias true",
    choices=(hidden_act(TANH)._replace(taken_for={"gelu": TANH}),),
    indices="pad_token_id 0",
    divisible=(),
    rules="PADS_WITHIN, EVEN_HEAD_DIM",
    until=(
        before("5.18.0", replaced(choices=(hidden_act(TANH),)), "gemma", "configuration"),
        NO_TOKEN_BIAS,
        before("4.48.0", replaced(divisible=EVEN), "gemma"),
    ),
    classes=CLASSES,
    mlp_bias="False",
)
"""Gemma's first config files have ``"gelu"`` for GELU's tanh approximation, and the config class reads the word in this
sense; neither function has parameters."""

GEMMA2 = family(
    "gemma2",
    GEMMA,
    sizes="D 2304, L 26, A 8, Q 4, I 9216",
    activations=f"only hidden_activation {TANH}",
    divisible=EVEN,
    until=(NO_TOKEN_BIAS,),
    activation="hidden_activation",
    norms=f"""
    {LLAMA.trees["norms"]}
    pre_feedforward_layernorm, post_feedforward_layernorm   rms_norm D   @decoder.norm
    """,
    since=(4, 42),
)
"""Gemma 2 (Gemma Team 2024, arXiv 2408.00118): Gemma with norms also after attention and the feed-forward part."""

GEMMA3_TEXT = family(
    "gemma3_text",
    GEMMA2,
    sizes="V 262208",
    switches="only attention_bias false, tie_word_embeddings true",
    until=(),
    classes="""
    Gemma3TextModel, Gemma3ForCausalLM
    Gemma3TextForSequenceClassification   model.body + score   since 4.57
    """,
    head_norms=QWEN3.trees["head_norms"],
    since=(4, 50),
)
"""Gemma 3 (Gemma Team 2025, arXiv 2503.19786), its text model: Gemma 2 with norms on queries and keys."""
