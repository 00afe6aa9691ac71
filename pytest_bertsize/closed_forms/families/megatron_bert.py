"""Megatron-BERT (Shoeybi et al. 2019, arXiv 1909.08053): BERT whose layers norm what comes in, not what goes out.

As many parameters as BERT: 2·D of norm are after the last layer instead of after the embeddings.
"""

from pytest_bertsize.closed_forms.declare import extend, family, fill
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.families.roberta_prelayernorm import norms_first
from pytest_bertsize.closed_forms.parts import relative_positions

BODY = norms_first(
    before_attention="ln", before_feed_forward="ln", after_encoder="encoder.ln", across=relative_positions.DISTANCES
)
KEYS = extend(bert.KEYS, "V 29056, D 1024, L 24, A 16, I 4096")
CLASSES = fill(bert.CLASSES, name="bert", causal="ForCausalLM").replace("*", "MegatronBert")

FAMILY = family("megatron-bert", KEYS, CLASSES, bert.trees("bert", BODY))
