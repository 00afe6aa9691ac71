"""X-MOD (Pfeiffer et al. 2022, arXiv 2205.06266): XLM-RoBERTa with an adapter for each language in every layer."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.config.keys import Listing

XMOD = family(
    "xmod",
    "roberta",
    sizes="V 30522, R adapter_reduction_factor 2",
    switches="pre_norm false, adapter_layer_norm false",
    lists=(Listing("languages", ("en_XX",), str),),
    rules="""
    adapter_reduction_factor <= hidden_size
      adapter_reduction_factor is {adapter_reduction_factor:,}, more than hidden_size {hidden_size:,}: \
each adapter has width 0
      write {hidden_size:,} or less
    """,
    under="roberta",
    more="""
    output
      adapter_layer_norm            layer_norm D             @encoder.norm   when adapter_layer_norm
      adapter_modules × languages                            @encoder.adapter
        dense1                      linear D D//R
        dense2                      linear D//R D
        adapter_act_fn              activation hidden_act
    """,
    after_layers="encoder.LayerNorm   layer_norm D   @encoder.norm   when pre_norm",
)
