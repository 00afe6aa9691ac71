"""XLM-RoBERTa-XL (Goyal et al. 2021, arXiv 2105.00572): XLM-RoBERTa in billions, whose layers norm what comes in.

As many parameters as BERT: 2·D of norm are after the last layer instead of after the embeddings.
"""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.families.roberta_prelayernorm import norms_first

BODY = norms_first(
    before_attention="self_attn_layer_norm", before_feed_forward="LayerNorm", after_encoder="encoder.LayerNorm"
)
KEYS = extend(bert.KEYS, "V 250880, D 2560, L 36, A 32, I 10240, P 514, T 1")

FAMILY = family("xlm-roberta-xl", KEYS, roberta.classes("XLMRobertaXL", "roberta"), roberta.trees("roberta", BODY))
