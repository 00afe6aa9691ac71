"""GPT-2 (Radford et al. 2019, not on arXiv): the Transformer's decoder (arXiv 1706.03762), pre-norm; and GPT.

Query, key and value are one matrix, whose first dimension is the inputs.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Choice

OPENAI_HEAD = heads.projection("lm_head", "transformer.tokens_embed.weight")

# GPT (Radford et al. 2018, not on arXiv): GPT-2 as a post-norm model (arXiv 1706.03762), without the last norm.
# The class with two heads ties in reverse: ``lm_head`` owns the matrix, and the embeddings share it, as the class's map
# of ties says (since https://github.com/huggingface/transformers/pull/42191).
OPENAI_GPT = family(
    "openai-gpt",
    sizes="V 40478, D n_embd 768 or hidden_size, L n_layer 12 layers from 0 or num_hidden_layers,"
    "A n_head 12 or num_attention_heads divides D, P n_positions 512 or max_position_embeddings",
    switches="tie_word_embeddings true, summary_use_proj true, summary_proj_to_labels true",
    choices=(Choice("afn", "gelu", frozenset({"relu", "silu", "gelu", "swish"})), *heads.summary_choices("cls_index")),
    ignored="add_cross_attention, pruned_heads",
    classes="""
    OpenAIGPTModel, *LMHeadModel
    *DoubleHeadsModel            transformer.body(lm_head_owns) + owner + summary
    *ForSequenceClassification   transformer.body + score
    """,
    body="""
    OWNED := get(lm_head_owns,False) and tie_word_embeddings and not before(5)
    tokens_embed                 embedding V D            @embeddings.word  tied weight=lm_head.weight if OWNED
    positions_embed              embedding P D            @embeddings.position
    h × L
      attn                                                @decoder.attention
        c_attn                   transposed_linear D 3*D
        c_proj                   transposed_linear D D
      ln_1                       layer_norm D             @decoder.norm
      mlp                                                 @decoder.feed_forward
        c_fc                     transposed_linear D 4*D
        c_proj                   transposed_linear 4*D D
      ln_2                       layer_norm D             @decoder.norm
    """,
    lm_head=OPENAI_HEAD,
    owner=f"{OPENAI_HEAD} and before(5)",
    summary=heads.summary("multiple_choice_head", "1"),
)

GPT2 = family(
    "gpt2",
    OPENAI_GPT,
    sizes="V 50257, I n_inner none from 0, P n_positions 1024 or max_position_embeddings",
    switches="add_cross_attention false",
    activations="only activation_function gelu_new",
    choices=heads.summary_choices("cls_index"),
    ignored="only pruned_heads",
    classes="""
    GPT2Model, *LMHeadModel, *ForTokenClassification
    *DoubleHeadsModel            transformer.body + lm_head + summary
    *ForSequenceClassification   transformer.body + score
    *ForQuestionAnswering        transformer.body + two_label_span
    """,
    body="""
    wte                          embedding V D                   @embeddings.word
    wpe                          embedding P D                   @embeddings.position
    h × L
      ln_1                       layer_norm D                    @decoder.norm
      attn                                                       @decoder.attention
        c_attn                   transposed_linear D 3*D
        c_proj                   transposed_linear D D
      ln_2                       layer_norm D                    @decoder.norm
      crossattention                                             @decoder.cross_attention  when add_cross_attention
        c_attn                   transposed_linear D 2*D
        q_attn                   transposed_linear D D
        c_proj                   transposed_linear D D
      ln_cross_attn              layer_norm D                    @decoder.norm             when add_cross_attention
      mlp                                                        @decoder.feed_forward
        c_fc                     transposed_linear D get(I,4*D)
        act                      activation activation_function
        c_proj                   transposed_linear get(I,4*D) D
    ln_f                         layer_norm D                    @decoder.norm
    """,
    lm_head=heads.projection("lm_head", "transformer.wte.weight"),
)
