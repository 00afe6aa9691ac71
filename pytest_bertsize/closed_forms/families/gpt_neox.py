"""GPT-NeoX (Black et al. 2022, arXiv 2204.06745) and Pythia: rotary positions, and one matrix for query, key, value."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads

GPT_NEOX = family(
    "gpt_neox",
    sizes="V 50432, D 6144, L 44 layers from 0, A 64 divides D, I 24576",
    switches="attention_bias true, tie_word_embeddings false",
    activations="hidden_act gelu",
    ignored="ROTARY",
    classes="""
    GPTNeoXModel, *ForCausalLM, *ForTokenClassification
    *ForSequenceClassification   gpt_neox.body + score
    *ForQuestionAnswering        gpt_neox.body + two_label_span
    """,
    body="""
    embed_in                     embedding V D                     @embeddings.word
    layers × L
      input_layernorm, post_attention_layernorm   layer_norm D     @decoder.norm
      attention                                                    @decoder.attention
        query_key_value          linear D 3*D bias=attention_bias
        dense                    linear D D bias=attention_bias
      mlp                                                          @decoder.feed_forward
        dense_h_to_4h            linear D I
        act                      activation hidden_act
        dense_4h_to_h            linear I D
    final_layer_norm             layer_norm D                      @decoder.norm
    """,
    lm_head=f"""
    {heads.projection("embed_out", "gpt_neox.embed_in.weight")}   when before(5, 14)
    {heads.projection("lm_head", "gpt_neox.embed_in.weight")}   when not before(5, 14)
    """,
)
