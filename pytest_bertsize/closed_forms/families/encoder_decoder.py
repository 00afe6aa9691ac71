"""Pairs of models, such as BERT2BERT (Rothe et al. 2019, arXiv 1907.12461): any encoder, and a decoder that reads it.

A pair has no sizes of its own: its config contains one config for each side, and each side has the closed form of its
family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from pytest_bertsize.closed_forms.blocks import Term, module
from pytest_bertsize.closed_forms.composed import Part, Several
from pytest_bertsize.closed_forms.declare import read_ignored
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.config.keys import ConfigKeys, Values
from pytest_bertsize.findings import Finding, find_all
from pytest_bertsize.inventory import parents_first
from pytest_bertsize.wording import shown

if TYPE_CHECKING:
    from pytest_bertsize.config.dims import Dims
    from pytest_bertsize.config.model_config import ModelConfig

SIDES = {"encoder": "e", "decoder": "d"}  # the suffix of its symbols: De is the width of the encoder
CROSS_WIDTH = "cross_attention_hidden_size"
PROJECTION = "decoder.projection"


class Side(Part, frozen=True):
    """One half of a pair: a class of its own family."""

    def component_of(self, own: str) -> str:
        """Return a component's name in the pair: ``decoder.norm`` for ``encoder.norm`` in the decoder's family."""
        stem, _, rest = own.partition(".")
        if stem == "head":
            return own
        return ".".join(filter(None, (self.name, rest if stem in SIDES else own)))


class Pair(Several, frozen=True, kw_only=True):
    """The family of one pair, which reads the keys of both sides."""

    outer: Family  # the family that reads the keys beside the sides

    def list_terms(self, dims: Dims) -> list[Term]:
        """Return the terms of both sides and, if their widths differ, of a projection between them."""
        found = Several.list_terms(self, dims)
        if dims.De != dims.Dd:
            found += module("linear", "enc_to_dec_proj", dims.De, dims.Dd, component=PROJECTION)
        return found

    def resolve(self, config: ModelConfig, overrides: Mapping[str, object], architecture: Architecture) -> Values:
        """Read both sides, each by the keys of its family; raise Unusable with the findings of both sides."""
        values = Several.resolve(self, config, overrides, architecture)
        top = self.outer.resolve(config, {}, architecture)
        sides = {
            side.name: {"model_type": side.family.name, **cast("dict[str, object]", values.for_build[side.name])}
            for side in self.parts
        }
        blind: list[Finding] = []
        if not values.switches.get("decoder.add_cross_attention", True):  # the library builds it without a warning
            message = "the decoder has no cross-attention, so it cannot see the encoder"
            fix = 'write "is_decoder": true and "add_cross_attention": true in the decoder'
            line = config.line("decoder")
            blind = [Finding("defaulted-key", message, fix, "warning", file=config.file, line=line)]
        return values._replace(
            for_build={**top.for_build, **sides},
            findings=(*values.findings, *top.findings, *blind),
            unknown=(*top.unknown, *values.unknown),
        )

    def component_names(self, dims: Dims) -> list[str]:
        """Return the components of each side's family, under that side's name."""
        return parents_first(dict.fromkeys((*Several.component_names(self, dims), PROJECTION)))


class PairFamily(Family, frozen=True):
    """The family of all pairs; the keys of one pair are those of its sides."""

    def of_config(
        self, config: ModelConfig, architecture: Architecture, find: Callable[[str], Sequence[Family]]
    ) -> tuple[Family, Architecture]:
        """:raises Unusable: if a side has no closed form."""
        sides = find_all(partial(_find_side, name, config, find) for name in SIDES)
        pair = Pair(self.name, self.keys, (), release=self.release, parts=(), outer=self).with_parts(sides)
        return pair, replace(architecture, terms=pair.list_terms)


def _find_side(name: str, config: ModelConfig, find: Callable[[str], Sequence[Family]]) -> Side:
    data = config.data.get(name)
    if not isinstance(data, dict):
        config.refuse(name, f"{name} is {shown(data)}: a pair has a config for each side", "write an object")
    own = config.inner(name, data)
    if data.get(CROSS_WIDTH) is not None:
        message = f"{CROSS_WIDTH} = {shown(data[CROSS_WIDTH])} is refused: no closed form describes it"
        own.refuse(CROSS_WIDTH, message, "write null, or write closed_form = false", "config-refused")
    families = find(own.model_type) if isinstance(own.model_type, str) else ()
    found = ((family, _find_class(name, family)) for family in families)
    family, architecture = next(((family, each) for family, each in found if each), (None, None))
    if family is None or architecture is None:
        article = {"encoder": "an", "decoder": "a"}[name]
        message = f"the {name} is {shown(own.model_type)}, for which there is no closed form as {article} {name}"
        fix = "write closed_form = false to check the pair's budget alone"
        own.refuse("model_type", message, fix, "unknown-closed-form")
    return Side(name, f"{name}.", SIDES[name], name, name, family, architecture, own)


# The ends of a class's name for each side, as the library's Auto mappings choose the class.
_ENDINGS = {"encoder": ("Model", "Encoder"), "decoder": ("ForCausalLM", "LMHeadModel", "GenerationDecoder")}


def _find_class(side: str, family: Family) -> Architecture | None:
    """Return the class of a side: ``BertModel`` encodes, ``BertLMHeadModel`` decodes."""
    if isinstance(family, PairFamily):
        return None
    heads = ("?",) if side == "decoder" else _ENDINGS["decoder"]
    names = {each.name: each for each in family.architectures}
    fitting = (name for name in names if name.endswith(_ENDINGS[side]) and not name.endswith(heads))
    return names.get(min(fitting, key=len, default=""))


def _list_no_terms(_: Dims) -> list[Term]:
    raise TypeError("a pair has no terms without its config")


IGNORED = """
tie_encoder_decoder [false]
tie_word_embeddings [true]: the key of the same name in the decoder decides
"""
ENCODER_DECODER = PairFamily(
    "encoder-decoder",
    ConfigKeys((), ignored=read_ignored(IGNORED), inert=frozenset({*SIDES, "vocab_size"})),
    (Architecture("EncoderDecoderModel", _list_no_terms),),
)
