"""X-MOD (Pfeiffer et al. 2022, arXiv 2205.06266): XLM-RoBERTa with an adapter for each language in every layer."""

from pytest_bertsize.closed_forms.declare import family, read_rules
from pytest_bertsize.config.keys import Listing, Rule

TAKEN = frozenset(
    (
        *("apply", "bfloat16", "buffers", "children", "clear", "compile", "cpu", "cuda", "double", "eval", "float"),
        *("forward", "half", "ipu", "items", "keys", "modules", "mtia", "parameters", "pop", "to", "train", "training"),
        *("type", "update", "values", "xpu"),
    )
)
"""Names that ``torch.nn.ModuleDict`` reserves: no language can have them, not even Tongan (``to``)."""
SOME_ADAPTER = """
adapter_reduction_factor <= hidden_size
  adapter_reduction_factor is {adapter_reduction_factor:,}, more than hidden_size {hidden_size:,}: \
each adapter has width 0
  write {hidden_size:,} or less
"""
FREE_NAMES = Rule(
    ("languages",),
    lambda values: not any(each in TAKEN or each.startswith("__") for each in values["languages"]),
    "one name in languages {languages} is reserved by torch's modules: the class refuses this name",
    "write the name with a region, as in to_TO",
)

XMOD = family(
    "xmod",
    "roberta",
    sizes="V 30522, R adapter_reduction_factor 2",
    switches="pre_norm false, adapter_layer_norm false",
    lists=(Listing("languages", ("en_XX",), str),),
    rules=(*read_rules(SOME_ADAPTER), FREE_NAMES),
    under="roberta",
    body="""
    <bert>
    encoder.layer × L
      output
        adapter_layer_norm            layer_norm D             @encoder.norm   when adapter_layer_norm
        adapter_modules × languages                            @encoder.adapter
          dense1                      linear D D//R
          dense2                      linear D//R D
          adapter_act_fn              activation hidden_act
    encoder.LayerNorm                 layer_norm D             @encoder.norm   when pre_norm
    """,
)
