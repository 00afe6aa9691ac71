"""Phi-3 (Abdin et al. 2024, arXiv 2404.14219): Llama with one matrix for all of attention, and one for both gates."""

from pytest_bertsize.closed_forms.declare import Index, extend, family
from pytest_bertsize.closed_forms.families import llama
from pytest_bertsize.closed_forms.parts import heads, rotary

PHI3 = family(
    "phi3",
    extend(
        llama.MISTRAL_KEYS,
        "V 32064, D 3072, I 8192, Q none",
        indices=(Index("pad_token_id", 32000),),
        rules=rotary.PADS_WITHIN + rotary.SOME_WIDTH + rotary.EVEN_HEAD_DIM,
        until=(llama.NO_TOKEN_BIAS, llama.head_dim_since("4.48.0", "phi3")),
    ),
    """
    Phi3Model                       body
    Phi3ForCausalLM                 model.body + lm_head
    Phi3ForSequenceClassification   model.body + score
    Phi3ForTokenClassification      model.body + token_score
    """,
    llama.PARTS,
    body="""
    W := get(S, D // A)
    embed_tokens                 embedding V D                         @embeddings.word
    layers × L
      input_layernorm            rms_norm D                            @decoder.norm
      post_attention_layernorm   rms_norm D                            @decoder.norm
      self_attn                                                        @decoder.attention
        qkv_proj                 linear D A*W+2*get(Q,A)*W bias=False
        o_proj                   linear A*W D bias=False
      mlp                                                              @decoder.feed_forward
        gate_up_proj             linear D 2*I bias=False
        down_proj                linear I D bias=False
        activation_fn            activation hidden_act
    norm                         rms_norm D                            @decoder.norm
    """,
    token_score=f"""
    {heads.CLASSIFIER}   when before(4, 48)
    {llama.PARTS["token_score"]}   when not before(4, 48)
    """,
    since=(4, 41),
)
