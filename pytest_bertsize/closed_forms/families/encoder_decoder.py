"""Pairs of models, such as BERT2BERT (Rothe et al. 2019, arXiv 1907.12461): any encoder, and a decoder that reads it.

A pair has no shape of its own: its config holds one for each side, and each side has the closed form of its family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

from pytest_bertsize.closed_forms.blocks import Term, module
from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.several import Part, Several, find_all, put_together
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Rule, Values
from pytest_bertsize.config.values import find_keys_without_effect
from pytest_bertsize.findings import Finding, Kind, Unusable
from pytest_bertsize.inventory import levels, parents_first
from pytest_bertsize.wording import exact, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.release import Release

SIDES = {"encoder": "e", "decoder": "d"}
"""Each side with the suffix of its symbols: ``De`` is the encoder's width, ``Dd`` the decoder's."""
CROSS_WIDTH = "cross_attention_hidden_size"
NOT_AS_WIDE = f"{CROSS_WIDTH} is {{width}}, and the encoder is {{encoder}} wide: the class refuses that"


@dataclass(frozen=True, slots=True)
class Side(Part):
    """One half of a pair: a class of its own family."""

    def component_of(self, own: str) -> str:
        """``embeddings.word`` → ``decoder.embeddings.word``; a BERT that decodes calls its layers ``encoder``."""
        stem, _, rest = own.partition(".")
        if stem == "head":
            return own
        return ".".join(filter(None, (self.name, rest if stem in SIDES else own)))


def list_pair(dims: Dims) -> list[Term]:
    """Return both sides and, where their widths differ, De·Dd + Dd of projection between them."""
    found: list[Term] = dims.sides.list_terms(dims)
    if dims.De != dims.Dd and not dims.cross_width:
        found += module("linear", "enc_to_dec_proj", dims.De, dims.Dd, component="decoder.projection")
    return found


def _count_encoder(value: Any, dims: Dims) -> int | None:
    """Count all of the encoder but its pooler, which the decoder would have shared (transformers 4)."""
    encoder, decoder = dims.sides.parts
    if value is not True or encoder.family is not decoder.family:
        return None
    own = encoder.own_dims(dims)
    without_pooler = replace(own, switches={**own.switches, "add_pooling_layer": False})
    return -int(sum(term.total for term in encoder.architecture.terms(without_pooler)))


IGNORED = {
    "tie_encoder_decoder": Ignored((False,), cost=_count_encoder),
    "tie_word_embeddings": Ignored((True,), because="the key of the same name in the decoder decides"),
}
VOCABULARY = "vocab_size"
KEYS = ConfigKeys(sizes=(), inert=frozenset({*SIDES, *IGNORED, VOCABULARY}))


@dataclass(frozen=True, slots=True)
class PairFamily(Family):
    """The family of pairs: what it reads is what its two sides read."""

    known: Callable[[str], Sequence[Family]] | None = field(default=None, kw_only=True, compare=False)
    """The families that a side may be of; ``None``: those that are built in."""

    def among(self, families: Callable[[str], Sequence[Family]]) -> Self:
        """A side may be of any of these, contributed ones among them."""
        return replace(self, known=families)

    def resolve(self, config: ModelConfig, overrides: Mapping[str, object], architecture: Architecture) -> Values:
        """Read both sides, each by the keys of its family.

        :raises Unusable: with a finding for everything that is wrong on either side.
        """
        sides = self._find_sides(config)
        values = sides.resolve(config, overrides, architecture)
        cross_width = _cross_width(config, values)
        switches = {**values.switches, "sides": sides, "cross_width": cross_width is not None}
        own = (values.sizes.get("Ve"), values.sizes["Vd"])
        known = {
            **IGNORED,
            VOCABULARY: Ignored(own, because="each side has one of its own", fix="write it into a side"),
        }
        ignored = find_keys_without_effect(known, config, Dims(values.sizes, switches), architecture.name)
        top = Family.resolve(self, config, {}, architecture)
        for_build = {
            side.name: {"model_type": side.family.name, **cast("dict[str, object]", values.for_build[side.name])}
            for side in sides.parts
        }
        return Values(
            values.sizes,
            switches,
            {**top.for_build, **for_build},
            (*values.findings, *top.findings, *ignored, *_warn_of_blind_decoder(config, values)),
            values.assumed,
            (*top.unknown, *values.unknown),
        )

    def _find_sides(self, config: ModelConfig) -> Several:
        """:raises Unusable: where a side has no closed form."""
        known = self.known or partial(_built_in, release=self.release)
        sides = find_all(partial(_find_side, name, config, known) for name in SIDES)
        return put_together(Several(self.name, ConfigKeys(()), (), release=self.release, parts=()), sides)

    def keys_of(self, dims: Dims) -> ConfigKeys:
        """Return those of either side, by the names that they have in the pair."""
        keys: ConfigKeys = dims.sides.keys
        as_wide = (_as_wide(dims).below("encoder."),) if dims.cross_width else ()
        return replace(keys, rules=(*keys.rules, *as_wide))

    def component_names(self, dims: Dims) -> list[str]:
        """Return what either side's family has, under that side's name."""
        names = dict.fromkeys([*dims.sides.component_names(dims), "decoder.projection"])
        return parents_first({level: None for name in names for level in levels(name)})


def _built_in(name: str, release: Release) -> list[Family]:
    return [FAMILIES[name].at(release)] if name in FAMILIES else []


def _find_side(name: str, config: ModelConfig, known: Callable[[str], Sequence[Family]]) -> Side:
    data = config.data.get(name)
    if not isinstance(data, dict):
        config.refuse(name, f"{name} is {shown(data)}: a pair has a config for each side", "write an object")
    own = config.inner(name, data)
    families = known(own.model_type) if isinstance(own.model_type, str) else ()
    found = ((family, _class_for(name, family)) for family in families)
    family, architecture = next(((family, each) for family, each in found if each), (None, None))
    if family is None or architecture is None:
        message = f"the {name} is {shown(own.model_type)}, for which there is no closed form as {_A[name]}"
        own.refuse("model_type", message, "write closed_form = false to hold the pair to its budget alone", _UNKNOWN)
    return Side(name, f"{name}.", SIDES[name], name, name, family, architecture, own)


_A = {"encoder": "an encoder", "decoder": "a decoder"}
_UNKNOWN: Kind = "unknown-closed-form"
_ENDINGS = {
    "encoder": ("Model", "Encoder"),
    "decoder": ("ForCausalLM", "LMHeadModel", "GenerationDecoder"),
}
"""Of the class that the library takes for a side (its Auto mappings)."""


def _class_for(side: str, family: Family) -> Architecture | None:
    """``BertModel`` encodes, ``BertLMHeadModel`` decodes."""
    if isinstance(family, PairFamily):
        return None
    heads = () if side == "decoder" else _ENDINGS["decoder"]
    named = (
        each
        for each in family.architectures
        if each.name.endswith(_ENDINGS[side]) and not each.name.endswith(heads or "?")
    )
    return min(named, key=lambda each: len(each.name), default=None)


def _cross_width(config: ModelConfig, values: Values) -> int | None:
    """``cross_attention_hidden_size`` of the decoder, which says that it reads the encoder without a projection."""
    decoder = config.data["decoder"]
    width = decoder.get(CROSS_WIDTH) if isinstance(decoder, dict) else None
    encoder = values.sizes["De"]
    if width is None or (type(width) is int and width == encoder):
        return width
    message = NOT_AS_WIDE.format(width=shown(width), encoder=exact(encoder or 0))
    line = config.line("decoder", CROSS_WIDTH)
    raise Unusable(Finding("config-invalid", message, f'write "{CROSS_WIDTH}": {encoder}', file=config.file, line=line))


def _as_wide(dims: Dims) -> Rule:
    """The same of a pair that has the key, and as wide an encoder."""
    width = int(dims.De)
    key = next(size.key for size in dims.sides.parts[0].family.keys.sizes if size.symbol == "D")
    message = NOT_AS_WIDE.format(width=width, encoder=f"{{{key}:,}}")
    return Rule((key,), lambda values: bool(values[key] == width), message, f'write "{CROSS_WIDTH}": {{{key}}}')


def _warn_of_blind_decoder(config: ModelConfig, values: Values) -> list[Finding]:
    """A decoder that cannot see the encoder is built without a word."""
    if values.switches.get("decoder.add_cross_attention", True):
        return []
    message = "the decoder has no cross-attention, so that it cannot see the encoder"
    fix = 'write "is_decoder": true and "add_cross_attention": true in the decoder'
    return [Finding("defaulted-key", message, fix, "warning", file=config.file, line=config.line("decoder"))]


ENCODER_DECODER = PairFamily("encoder-decoder", KEYS, (Architecture("EncoderDecoderModel", list_pair),))
