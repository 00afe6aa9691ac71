"""XLM (Lample and Conneau 2019, arXiv 1901.07291): BERT's encoder with other names, and languages in place of segments.

The language model has one matrix, or an adaptive softmax (Grave et al. 2016, arXiv 1609.04309). A tied softmax also has
the words' matrix, but never reads it.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from pytest_bertsize.closed_forms.declare import family, read_rules
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Listing, Rule


def _has_increasing_cutoffs(values: Mapping[str, Any]) -> bool:
    cutoffs = [*values.get("asm_cutoffs", ()), values["vocab_size"]]
    return not values["asm"] or (len(cutoffs) > 1 and all(low < high for low, high in pairwise(cutoffs)))


ADAPTIVE_SOFTMAX = (
    Rule(
        ("asm_cutoffs", "asm", "vocab_size"),
        _has_increasing_cutoffs,
        "asm is true, but asm_cutoffs is not a list of rising numbers below vocab_size {vocab_size:,}",
        'write such a list, or "asm": false',
    ),
    *read_rules(
        """
        asm_div_value: not asm or asm_div_value != None and emb_dim // get(asm_div_value, 1) ** len(asm_cutoffs) > 0
          asm is true, but asm_div_value is missing, or divides emb_dim {emb_dim:,} until the last cluster has width 0
          write "asm_div_value": 4, for example, or "asm": false
        """
    ),
)
WORDS = "transformer.embeddings.weight"

XLM = family(
    "xlm",
    sizes="V 30145 or n_words, D emb_dim 2048 or hidden_size, L n_layers 12 layers from 0 or num_hidden_layers,"
    "A n_heads 16 or num_attention_heads divides D, P 512, N n_langs 1, R asm_div_value none",
    switches="is_encoder true, use_lang_emb true, asm false, tie_word_embeddings true, summary_use_proj true,"
    "summary_proj_to_labels true",
    choices=heads.summary_choices("first"),
    lists=(Listing("asm_cutoffs", default=(), of=int),),
    rules="""
    is_encoder
      is_encoder is false, which the class refuses: it has no decoder
      write "is_encoder": true
    """,
    ignored="""
    add_cross_attention, pruned_heads
    share_inout_emb [true] costs V*D when is_false: transformers reads tie_word_embeddings -> write \
"tie_word_embeddings": false, if that is intended
    """,
    classes="""
    *Model
    *WithLMHeadModel               transformer.body + language_model
    *ForSequenceClassification     transformer.body + summary
    *ForMultipleChoice             transformer.body + summary + logits
    *ForTokenClassification
    *ForQuestionAnsweringSimple    transformer.body + span
    *ForQuestionAnswering          transformer.body + searched_span
    """,
    stem="XLM",
    under="transformer",
    body="""
    position_embeddings              embedding P D   @embeddings.position
    lang_embeddings                  embedding N D   @embeddings.language   when use_lang_emb and N > 1
    embeddings                       embedding V D   @embeddings.word
    layer_norm_emb                   layer_norm D    @embeddings.norm
    attentions × L                                   @encoder.attention
      q_lin, k_lin, v_lin, out_lin   linear D D
    layer_norm1 × L                  layer_norm D    @encoder.norm
    ffns × L                                         @encoder.feed_forward
      lin1                           linear D 4*D
      lin2                           linear 4*D D
    layer_norm2 × L                  layer_norm D    @encoder.norm
    """,
    language_model=f"""
    is_adaptive := asm and asm_cutoffs
    {heads.projection("pred_layer.proj", WORDS, bias="True")}   when not is_adaptive
    pred_layer.proj                  @head.decoder   when is_adaptive
      weight                         parameter V D   tied weight={WORDS}   when tie_word_embeddings
      head                           linear D asm_cutoffs[0]+len(asm_cutoffs)
      tail.{{i}}                     for i in range(len(asm_cutoffs))
        0                            linear D D//R**(i+1) bias=False
        1                            linear D//R**(i+1) (asm_cutoffs+(V,))[i+1]-asm_cutoffs[i] bias=False
    """,
    logits="logits_proj   linear C 1   @head.classifier",
    searched_span=heads.SEARCHED_SPAN.replace("{place}", "qa_outputs"),
    tree_rules={"language_model": ADAPTIVE_SOFTMAX},
)
FLAUBERT = family("flaubert", XLM)
"""FlauBERT (Le et al. 2019, arXiv 1912.05372): XLM for French; pre-norm and dropped layers change no count."""
