"""Llama (Touvron et al. 2023, arXiv 2302.13971 and 2307.09288), and families that are built like it, such as EuroBERT.

Keys and values have Q heads of their own (arXiv 2305.13245). Norms come before attention, before a gated feed-forward
part and after the last layer.
"""

from msgspec.structs import replace

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import ACTIVATIONS, Choice, ConfigKeys, Until
from pytest_bertsize.config.older_releases import LIBRARY, before, replaced, without, without_rules_on

CLASSES = """
*Model, *ForCausalLM
*ForSequenceClassification   model.body + score
*ForTokenClassification      model.body + scores   since 4.42
"""
EVEN = (("hidden_size", "num_attention_heads"),)
# Since 5.13, classes read ``token_classification_bias`` from the config file, though no config class declares it.
NO_TOKEN_BIAS = Until(
    (5, 13), without("token_classification_bias"), f"{LIBRARY}/blob/v5.13.0/src/transformers/modeling_layers.py"
)


def head_dim_since(release: str, family: str) -> Until:
    """Return the change for releases before ``release``: they lack ``head_dim``, and heads must divide the width."""

    def change(keys: ConfigKeys) -> ConfigKeys:
        return replace(without_rules_on("head_dim")(without("head_dim")(keys)), divisible=EVEN)

    return before(release, change, family)


# The ``score`` of each token has a bias unless the config turns it off; the ``score`` of a sequence has none. The class
# for question answering keeps the body under ``transformer``.
LLAMA = family(
    "llama",
    sizes="V 32000, D 4096, L 32 layers from 0, A 32 divides D, Q none, S none, I 11008",
    switches="attention_bias false, mlp_bias false, tie_word_embeddings false, token_classification_bias true",
    activations="hidden_act silu",
    rules="EVEN_HEAD_DIM, EVEN_HEADS",
    ignored="ROTARY, embedding_size, add_pooling_layer",
    until=(NO_TOKEN_BIAS, head_dim_since("4.45.0", "llama"), before("4.41.0", without("mlp_bias"), "llama")),
    classes=f"{CLASSES}*ForQuestionAnswering   transformer.body + span",
    body="""
    W := get(S, D // A)
    embed_tokens                 embedding V D                            @embeddings.word
    layers × L
      <norms>
      self_attn                                                           @{stack}.attention
        <projections>
        o_proj                   linear A*W D bias=get(attention_bias,False)
        <head_norms>
      mlp                                                                 @{stack}.feed_forward
        <gates>
    norm                         rms_norm D                               @{stack}.norm
    """,
    projections="""
    q_proj                       linear D A*W bias={bias}
    k_proj, v_proj               linear D get(Q,A)*W bias={bias}
    """,
    gates="""
    gate_proj, up_proj           linear D I bias=get(mlp_bias,False)
    down_proj                    linear I D bias=get(mlp_bias,False)
    act_fn                       activation {activation}
    """,
    norms="input_layernorm, post_attention_layernorm   rms_norm D         @{stack}.norm",
    head_norms="",
    stack="decoder",
    bias="get(attention_bias,False)",
    activation="hidden_act",
    lm_head=heads.projection("lm_head", "model.embed_tokens.weight"),
    scores="score           linear D C bias=get(token_classification_bias,True)  @head.classifier",
    span="<two_label_span>",
)

# Mistral (Jiang et al. 2023, arXiv 2310.06825): Llama without biases; heads share keys and values by default.
MISTRAL = family(
    "mistral",
    LLAMA,
    sizes="I 14336, Q 8",
    switches="only tie_word_embeddings false, token_classification_bias true",
    divisible=(),
    rules="SOME_WIDTH, EVEN_HEAD_DIM, EVEN_HEADS",
    until=(NO_TOKEN_BIAS, head_dim_since("4.43.0", "mistral")),
    classes=f"{CLASSES}*ForQuestionAnswering   model.body + span   since 4.46",
)

# Qwen2 (Yang et al. 2024, arXiv 2407.10671): Llama with biases on queries, keys and values alone.
QWEN2 = family(
    "qwen2",
    MISTRAL,
    sizes="V 151936, I 22016, Q 32",
    rules="SOME_WIDTH, EVEN_HEAD_DIM",
    until=(NO_TOKEN_BIAS, head_dim_since("4.48.0", "qwen2")),
    classes=f"{LLAMA.classes}   since 4.46",
    bias="True",
)

# Qwen3 (Yang et al. 2025, arXiv 2505.09388): Llama with heads of any width, and with norms on queries and keys that all
# heads share (Henry et al. 2020, arXiv 2010.04245).
QWEN3 = family(
    "qwen3",
    QWEN2,
    sizes="S 128",
    switches="only attention_bias false, tie_word_embeddings false, token_classification_bias true",
    rules="EVEN_HEAD_DIM",
    until=(NO_TOKEN_BIAS,),
    classes=LLAMA.classes,
    bias="attention_bias",
    head_norms="q_norm, k_norm   rms_norm W   @decoder.norm",
    since=(4, 51),
)

# EuroBERT (Boizard et al. 2025, arXiv 2503.05500): an encoder of Llama's layers; heads may share keys and values.
# The norms are scales without a shift (Zhang and Sennrich 2019, arXiv 1910.07467). ``mlp_bias`` gives the masked
# language model a bias, too.
EUROBERT = family(
    "eurobert",
    LLAMA,
    sizes="V 128256, D 768, L 12, A 12, I 3072",
    switches="only attention_bias false, mlp_bias false, tie_word_embeddings false",
    indices="pad_token_id 128001",
    rules="PADS_WITHIN, EVEN_HEAD_DIM, EVEN_HEADS",
    until=(),
    classes="""
    EuroBertModel, *ForMaskedLM, *ForTokenClassification
    *ForSequenceClassification   model.body + transform + classifier
    """,
    stack="encoder",
    lm_head=heads.projection("lm_head", "model.embed_tokens.weight", bias="mlp_bias"),
    transform="dense   linear D D   @head.transform",
    since=(5, 3),
)

# Phi-3 (Abdin et al. 2024, arXiv 2404.14219): Llama with one matrix for query, key and value, one for gate and up.
PHI3 = family(
    "phi3",
    MISTRAL,
    sizes="V 32064, D 3072, I 8192, Q none",
    indices="pad_token_id 32000",
    rules="PADS_WITHIN, SOME_WIDTH, EVEN_HEAD_DIM",
    until=(NO_TOKEN_BIAS, head_dim_since("4.48.0", "phi3")),
    classes=CLASSES.replace("   since 4.42", ""),
    projections="qkv_proj          linear D A*W+2*get(Q,A)*W bias=False",
    gates="""
    gate_up_proj                 linear D 2*I bias=False
    down_proj                    linear I D bias=False
    activation_fn                activation hidden_act
    """,
    scores=f"""
    {heads.COMMON["classifier"]}   when before(4, 48)
    {LLAMA.trees["scores"]}   when not before(4, 48)
    """,
    since=(4, 41),
)

TANH = "gelu_pytorch_tanh"
# Gemma (Gemma Team 2024, arXiv 2403.08295): Llama with a tied decoder, and with heads of any width.
# The first config files have ``"gelu"`` for GELU's tanh approximation, and the config class reads the word in this
# sense; neither function has parameters.
GEMMA = family(
    "gemma",
    LLAMA,
    sizes="only V 256000, D 3072, L 28 layers from 0, A 16, Q 16, S 256, I 24576",
    switches="only attention_bias false, tie_word_embeddings true, token_classification_bias true",
    choices=(Choice("hidden_act", TANH, ACTIVATIONS, taken_for={"gelu": TANH}),),
    indices="pad_token_id 0",
    divisible=(),
    rules="PADS_WITHIN, EVEN_HEAD_DIM",
    until=(
        before("5.18.0", replaced(choices=(Choice("hidden_act", TANH, ACTIVATIONS),)), "gemma", "configuration"),
        NO_TOKEN_BIAS,
        before("4.48.0", replaced(divisible=EVEN), "gemma"),
    ),
    classes=CLASSES,
)

# Gemma 2 (Gemma Team 2024, arXiv 2408.00118): Gemma with norms also after attention and the feed-forward part.
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

# Gemma 3 (Gemma Team 2025, arXiv 2503.19786), its text model: Gemma 2 with norms on queries and keys.
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
