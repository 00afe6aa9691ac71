"""Pairs of models, such as BERT2BERT (Rothe et al. 2019, arXiv 1907.12461): any encoder, and a decoder that reads it.

A pair has no sizes of its own: its config contains one config for each side, and each side has the closed form of its
family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

from msgspec.structs import replace

from pytest_bertsize.closed_forms.blocks import Term, module
from pytest_bertsize.closed_forms.composed import Part, Several, find_all
from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Rule, Values
from pytest_bertsize.config.values import Dims, find_keys_without_effect
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import levels, parents_first
from pytest_bertsize.wording import exact, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

    Find = Callable[[str], Sequence[Family]]

SIDES = {"encoder": "e", "decoder": "d"}
"""Each side with the suffix of its symbols: ``De`` is the encoder's width, ``Dd`` the decoder's."""
CROSS_WIDTH = "cross_attention_hidden_size"
NOT_AS_WIDE = f"{CROSS_WIDTH} is {{width}}, but the encoder is {{encoder}} wide: the class refuses that"


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

    cross_width: object = None
    """The decoder's ``cross_attention_hidden_size``; if set, the decoder reads the encoder without a projection."""

    def with_parts(self, parts: Iterable[Part]) -> Self:
        found = Several.with_parts(self, parts)
        key = next(size.key for size in found.keys.sizes if size.symbol == "De")
        if self.cross_width is None:
            return found
        message = NOT_AS_WIDE.format(width=self.cross_width, encoder=f"{{{key.removeprefix('encoder.')}:,}}")
        fix = f'write "{CROSS_WIDTH}": {{{key.removeprefix("encoder.")}}}'
        as_wide = Rule((key,), lambda values: bool(values[key] == self.cross_width), message, fix)
        return replace(found, keys=replace(found.keys, rules=(*found.keys.rules, as_wide)))

    def list_terms(self, dims: Dims) -> list[Term]:
        """Return the terms of both sides and, if their widths differ, De·Dd + Dd of projection between them."""
        found = Several.list_terms(self, dims)
        if dims.De != dims.Dd and self.cross_width is None:
            found += module("linear", "enc_to_dec_proj", dims.De, dims.Dd, component="decoder.projection")
        return found

    def resolve(self, config: ModelConfig, overrides: Mapping[str, object], architecture: Architecture) -> Values:
        """Read both sides, each by the keys of its family; raise Unusable with the findings of both sides."""
        values = Several.resolve(self, config, overrides, architecture)
        self._check_cross_width(config, values.sizes["De"])
        own = (values.sizes.get("Ve"), values.sizes["Vd"])
        known = {
            "tie_encoder_decoder": Ignored((False,), cost=self._count_encoder),
            "tie_word_embeddings": Ignored((True,), because="the key of the same name in the decoder decides"),
            "vocab_size": Ignored(own, because="each side has one of its own", fix="write it into a side"),
        }
        dims = Dims(values.sizes, values.switches)
        ignored = find_keys_without_effect(known, config, dims, architecture.name)
        top = Family.resolve(ENCODER_DECODER, config, {}, architecture)
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
            findings=(*values.findings, *top.findings, *ignored, *blind),
            unknown=(*top.unknown, *values.unknown),
        )

    def _check_cross_width(self, config: ModelConfig, encoder: int | None) -> None:
        width = self.cross_width
        if width is not None and not (type(width) is int and width == encoder):
            message = NOT_AS_WIDE.format(width=shown(width), encoder=exact(encoder or 0))
            line, fix = config.line("decoder", CROSS_WIDTH), f'write "{CROSS_WIDTH}": {encoder}'
            raise Unusable(Finding("config-invalid", message, fix, file=config.file, line=line))

    def _count_encoder(self, value: Any, dims: Dims) -> int | None:
        """Return minus the encoder's parameters without a pooler, which a tied decoder shared in transformers 4."""
        encoder, decoder = self.parts
        if value is not True or encoder.family is not decoder.family:
            return None
        own = encoder.own_dims(dims)
        without_pooler = replace(own, switches={**own.switches, "add_pooling_layer": False})
        return -int(sum(term.total for term in encoder.architecture.terms(without_pooler)))

    def component_names(self, dims: Dims) -> list[str]:
        """Return the components of each side's family, under that side's name."""
        names = [*Several.component_names(self, dims), "decoder.projection"]
        return parents_first({level: None for name in names for level in levels(name)})


class PairFamily(Family, frozen=True):
    """The family of all pairs; the keys of one pair are those of its sides."""

    def of_config(
        self, config: ModelConfig, architecture: Architecture, find: Find | None = None
    ) -> tuple[Family, Architecture]:
        """:raises Unusable: if a side has no closed form."""

        def find_built_in(name: str) -> list[Family]:
            return [FAMILIES[name].at(self.release)] if name in FAMILIES else []

        sides = find_all(partial(_find_side, name, config, find or find_built_in) for name in SIDES)
        width = sides[1].config.data.get(CROSS_WIDTH)
        empty = Pair(self.name, self.keys, (), release=self.release, parts=(), cross_width=width)
        pair = empty.with_parts(sides)
        return pair, replace(architecture, terms=pair.list_terms)

    def resolve(self, config: ModelConfig, overrides: Mapping[str, object], architecture: Architecture) -> Values:
        return self.of_config(config, architecture)[0].resolve(config, overrides, architecture)


def _find_side(name: str, config: ModelConfig, find: Find) -> Side:
    data = config.data.get(name)
    if not isinstance(data, dict):
        config.refuse(name, f"{name} is {shown(data)}: a pair has a config for each side", "write an object")
    own = config.inner(name, data)
    families = find(own.model_type) if isinstance(own.model_type, str) else ()
    found = ((family, _find_class(name, family)) for family in families)
    family, architecture = next(((family, each) for family, each in found if each), (None, None))
    if family is None or architecture is None:
        article = {"encoder": "an", "decoder": "a"}[name]
        message = f"the {name} is {shown(own.model_type)}, for which there is no closed form as {article} {name}"
        fix = "write closed_form = false to check the pair's budget alone"
        own.refuse("model_type", message, fix, "unknown-closed-form")
    return Side(name, f"{name}.", SIDES[name], name, name, family, architecture, own)


_ENDINGS = {
    "encoder": ("Model", "Encoder"),
    "decoder": ("ForCausalLM", "LMHeadModel", "GenerationDecoder"),
}
"""The ends of a class's name for each side, as the library's Auto mappings choose the class."""


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


ENCODER_DECODER = PairFamily(
    "encoder-decoder",
    ConfigKeys((), inert=frozenset({*SIDES, "tie_encoder_decoder", "tie_word_embeddings", "vocab_size"})),
    (Architecture("EncoderDecoderModel", _list_no_terms),),
)
