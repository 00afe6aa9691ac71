"""X-MOD (Pfeiffer et al. 2022, arXiv 2205.06266): XLM-RoBERTa with an adapter for each language in every layer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, each, layer_norm, linear, repeat
from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.variations import extended
from pytest_bertsize.config.keys import Listing, Rule, Size, Switch

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def adapters(dims: Dims) -> Block:
    """2·D·B + B + D for each language, where B is D/R; a norm that they share adds 2·D."""
    D, B = dims.D, dims.D // dims.R
    languages = tuple(dict.fromkeys(dims.languages))
    return block(
        "output",
        layer_norm("adapter_layer_norm", D, component="encoder.norm") if dims.adapter_layer_norm else None,
        each(
            "adapter_modules",
            languages,
            linear("dense1", D, B),
            linear("dense2", B, D),
            activation("adapter_act_fn", dims.hidden_act),
            component="encoder.adapter",
        ),
    )


def xmod(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT with adapters; where layers norm what comes in, 2·D more after the last one."""
    return extended(
        bert.bert(dims, pooler=pooler, name=name),
        repeat("encoder.layer", dims.L, adapters(dims)),
        layer_norm("encoder.LayerNorm", dims.D, component="encoder.norm") if dims.pre_norm else None,
    )


TAKEN = frozenset(
    (
        *("apply", "bfloat16", "buffers", "children", "clear", "compile", "cpu", "cuda", "double", "eval", "float"),
        *("forward", "half", "ipu", "items", "keys", "modules", "mtia", "parameters", "pop", "to", "train", "training"),
        *("type", "update", "values", "xpu"),
    )
)
"""Words that ``torch.nn.ModuleDict`` has a use for: no language can be called so, not even Tongan (``to``)."""

KEYS = replace(
    bert.KEYS,
    sizes=(*bert.KEYS.sizes, Size("adapter_reduction_factor", "R", default=2)),
    switches=(
        *bert.KEYS.switches,
        Switch("pre_norm", default=False),
        Switch("adapter_layer_norm", default=False),
    ),
    lists=(Listing("languages", ("en_XX",), str),),
    rules=(
        Rule(
            ("adapter_reduction_factor", "hidden_size"),
            lambda values: values["adapter_reduction_factor"] <= values["hidden_size"],
            "adapter_reduction_factor is {adapter_reduction_factor:,}, more than hidden_size {hidden_size:,}: "
            "no width is left for an adapter",
            "write {hidden_size:,} or less",
        ),
        Rule(
            ("languages",),
            lambda values: not any(each in TAKEN or each.startswith("__") for each in values["languages"]),
            "languages {languages} has a name that torch's modules have taken: the class refuses that",
            "write it with a region: to_TO",
        ),
    ),
    inert=frozenset({"adapter_reuse_layer_norm", "default_language", "ln_before_adapter"}),
)

FAMILY = Family("xmod", KEYS, roberta.architectures("Xmod", Body("roberta", xmod)))
