"""GTE (Zhang et al. 2024, arXiv 2407.19669): Nomic BERT with more biases, and perhaps without token types.

V·D + T·D + 2·D + L·(4·D·A·W + 3·A·W + 3·D·I + 6·D), where W is the width of a head. The masked language model has
D² + 3·D, always with a GELU, and V of output bias, never tied; untied, the weights add V·D.
"""

from pytest_bertsize.closed_forms.declare import extend, family, fill
from pytest_bertsize.closed_forms.families import nomic_bert
from pytest_bertsize.closed_forms.parts import heads, rotary

LM_HEAD = f"""
lm_head
  dense                      linear D D      @head.transform
  layer_norm                 layer_norm D    @head.transform
  {heads.projection("decoder", "gte.embeddings.word_embeddings.weight", bias="True")}
"""

KEYS = extend(
    nomic_bert.KEYS,
    "V 250048, T type_vocab_size 1 from 0",
    activations="hidden_act gelu",
    rules=(rotary.SOME_WIDTH, rotary.EVEN_HEAD_DIM),
)

FAMILY = family(
    "gte",
    KEYS,
    fill(nomic_bert.CLASSES, name="gte").replace("*", "Gte"),
    body=nomic_bert.body(bias="True"),
    masked_lm=LM_HEAD,
    since=(5, 18),
)
