"""GPT (Radford et al. 2018, not on arXiv): GPT-2 without its last norm, the others behind, as in arXiv 1706.03762.

V·D + P·D + L·(12·D² + 13·D). The class with two heads ties the other way round: its ``lm_head`` owns the matrix, and
the embeddings share it, as its map of ties says (since https://github.com/huggingface/transformers/pull/42191).
"""

from pytest_bertsize.closed_forms.declare import Choice, family, keys
from pytest_bertsize.closed_forms.parts import heads

LM_HEAD = heads.projection("lm_head", "transformer.tokens_embed.weight")

OPENAI_GPT = family(
    "openai-gpt",
    keys(
        "V 40478, D n_embd 768 or hidden_size, L n_layer 12 layers from 0 or num_hidden_layers,"
        "A n_head 12 or num_attention_heads divides D, P n_positions 512 or max_position_embeddings",
        switches="tie_word_embeddings true, summary_use_proj true, summary_proj_to_labels true",
        choices=(
            Choice("afn", "gelu", frozenset({"relu", "silu", "gelu", "swish"})),
            *heads.summary_choices("cls_index"),
        ),
        ignored="add_cross_attention, pruned_heads",
    ),
    """
    OpenAIGPTModel                       body
    OpenAIGPTLMHeadModel                 transformer.body + lm_head
    OpenAIGPTDoubleHeadsModel            transformer.body(lm_head_owns) + owner + summary
    OpenAIGPTForSequenceClassification   transformer.body + score
    """,
    body="""
    OWNED := lm_head_owns and tie_word_embeddings and not before(5)
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
    lm_head=LM_HEAD,
    owner=f"{LM_HEAD} and before(5)",
    summary=heads.summary("multiple_choice_head", "1"),
)
