"""OPT (Zhang et al. 2022, arXiv 2205.01068): a decoder; the first two of its learned positions are unused."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads

OPT = family(
    "opt",
    sizes="V 50272, D 768, L 12 layers from 0, A 12 divides D, I ffn_dim 3072, P 2048, E word_embed_proj_dim none",
    switches="do_layer_norm_before true, _remove_final_layer_norm false, enable_bias true,"
    "layer_norm_elementwise_affine true, tie_word_embeddings true",
    activations="activation_function relu",
    ignored="pruned_heads, add_cross_attention",
    classes="""
    OPTModel, *ForCausalLM, *ForQuestionAnswering
    *ForSequenceClassification   model.body + score
    """,
    body="""
    AFFINE := layer_norm_elementwise_affine
    ENDS_NORMED := do_layer_norm_before and not _remove_final_layer_norm
    decoder
      embed_tokens                embedding V get(E,D)                    @embeddings.word
      embed_positions             embedding P+2 D                         @embeddings.position
      -                                                                   @decoder.projection  when get(E,D) != D
        project_in                linear get(E,D) D bias=False
        project_out               linear D get(E,D) bias=False
      layers × L
        self_attn                                                         @decoder.attention
          q_proj, k_proj, v_proj, out_proj  linear D D bias=enable_bias
        self_attn_layer_norm      layer_norm D elementwise_affine=AFFINE  @decoder.norm
        activation_fn             activation activation_function          @decoder.feed_forward
        fc1                       linear D I bias=enable_bias             @decoder.feed_forward
        fc2                       linear I D bias=enable_bias             @decoder.feed_forward
        final_layer_norm          layer_norm D elementwise_affine=AFFINE  @decoder.norm
      final_layer_norm            layer_norm D elementwise_affine=AFFINE  @decoder.norm        when ENDS_NORMED
    """,
    lm_head=heads.projection("lm_head", "model.decoder.embed_tokens.weight", width="get(E,D)"),
    score="score         linear get(E,D) C bias=False   @head.classifier",
    span="qa_outputs    linear get(E,D) 2              @head.qa_outputs",
)
