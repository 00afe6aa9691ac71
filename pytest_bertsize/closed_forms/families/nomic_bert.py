"""Nomic BERT (Nussbaum et al. 2024, arXiv 2402.01613): BERT with rotary positions, gates and few biases."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads

IGNORED = "ROTARY, embedding_size, add_pooling_layer"
# Keys of the earlier code on the hub, with the values for which it built the same model as the library.
BEFORE_TRANSFORMERS = """
activation_function ["swiglu"]: this family has hidden_act
mlp_fc1_bias, mlp_fc2_bias, qkv_proj_bias [false]: the matrices of this family have no bias
parallel_block, parallel_block_tied_norm, prenorm [false]: attention comes first, and each part ends with a norm
rotary_emb_fraction [1, 1.0]: this family has rotary positions only
use_rms_norm [false, null]: the norms of this family have a bias
"""

NOMIC_BERT = family(
    "nomic_bert",
    sizes="V 30528, D 768, L 12 layers from 0, A 12, S none, I 3072, T 2",
    switches="tie_word_embeddings true",
    activations="hidden_act silu",
    rules="SOME_WIDTH, EVEN_HEAD_DIM, EVEN_HEADS",
    ignored=f"{BEFORE_TRANSFORMERS}{IGNORED}",
    classes="""
    *Model                       body(pooler=add_pooling_layer)   option add_pooling_layer=False
    *ForMaskedLM, *ForSequenceClassification, *ForTokenClassification
    """,
    stem="NomicBert",
    trees="bert",
    position_embeddings="",
    segment_embeddings="token_type_embeddings   embedding T D   @embeddings.token_type   when T > 0",
    body="""
    W := get(S, D // A)
    <embeddings>
    layers × L
      self_attn                                              @encoder.attention
        q_proj, k_proj, v_proj   linear D A*W bias={bias}
        o_proj                   linear A*W D bias={bias}
      post_attention_layernorm   layer_norm D                @encoder.norm
      mlp                                                    @encoder.feed_forward
        <mlp>
      post_mlp_layernorm         layer_norm D                @encoder.norm
    <pooler>
    """,
    mlp="""
    gate_proj, up_proj           linear D I bias=False
    down_proj                    linear I D bias={bias}
    act_fn                       activation hidden_act
    """,
    bias="False",
    masked_lm=heads.MASKED_LM.replace("LayerNorm", "layer_norm"),
    since=(5, 5),
)

# GTE (Zhang et al. 2024, arXiv 2407.19669): Nomic BERT with more biases.
GTE = family(
    "gte",
    NOMIC_BERT,
    sizes="V 250048, T type_vocab_size 1 from 0",
    activations="hidden_act gelu",
    rules="SOME_WIDTH, EVEN_HEAD_DIM",
    ignored=f"only {IGNORED}",
    bias="True",
    lm_head=f"""
    lm_head
      dense                      linear D D      @head.transform
      layer_norm                 layer_norm D    @head.transform
      {heads.projection("decoder", "gte.embeddings.word_embeddings.weight", bias="True")}
    """,
    since=(5, 18),
)

# Jina embeddings v3 (Sturua et al. 2024, arXiv 2409.10173): XLM-RoBERTa with rotary positions.
JINA_EMBEDDINGS_V3 = family(
    "jina_embeddings_v3",
    GTE,
    sizes="V 250002, D 1024, L 24, A 16, I 4096, T type_vocab_size 1",
    classes="""
    JinaEmbeddingsV3Model, *ForMaskedLM, *ForTokenClassification, *ForQuestionAnswering
    *ForSequenceClassification   roberta.body + dense_classifier
    """,
    mlp="""
    fc1                          linear D I
    activation_fn                activation hidden_act
    fc2                          linear I D
    """,
    lm_head=heads.lm_head(),
    since=(5, 4),
)
