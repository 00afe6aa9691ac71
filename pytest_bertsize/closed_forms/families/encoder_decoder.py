"""Pairs of models, such as BERT2BERT (Rothe et al. 2019, arXiv 1907.12461): any encoder, and a decoder that reads it.

A pair has no shape of its own: its config holds one for each side, and each side has the closed form of its family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from pytest_bertsize.closed_forms.blocks import Term, list_terms, module
from pytest_bertsize.closed_forms.changes import put_below
from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Rule, Values
from pytest_bertsize.config.values import find_keys_without_effect
from pytest_bertsize.findings import Finding, Kind, Unusable
from pytest_bertsize.inventory import levels, parents_first
from pytest_bertsize.wording import exact, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.release import Release

SIDES = {"encoder": "e", "decoder": "d"}
"""Each side with the suffix of its symbols: ``De`` is the encoder's width, ``Dd`` the decoder's."""
CROSS_WIDTH = "cross_attention_hidden_size"
NOT_AS_WIDE = f"{CROSS_WIDTH} is {{width}}, and the encoder is {{encoder}} wide: the class refuses that"


@dataclass(frozen=True, slots=True)
class Side:
    """One half of a pair: a class of its own family, and that family's switches."""

    name: str
    family: Family
    architecture: Architecture
    switches: Mapping[str, Any]

    def dims(self, pair: Dims) -> Dims:
        """The pair's sizes as this side's own: ``De`` → ``D``."""
        own = {**self.switches, **self.architecture.options}
        numbers = None if pair.numbers is None else self._own(pair.numbers)
        return Dims(self._own(pair.sizes), own, numbers, pair.release)

    def _own(self, sizes: Mapping[str, Any]) -> dict[str, Any]:
        suffix = SIDES[self.name]
        return {name.removesuffix(suffix): size for name, size in sizes.items() if name.endswith(suffix)}

    def component(self, own: str) -> str:
        """``embeddings.word`` → ``decoder.embeddings.word``; a BERT that decodes calls its layers ``encoder``."""
        stem, _, rest = own.partition(".")
        if stem == "head":
            return own
        return ".".join(filter(None, (self.name, rest if stem in SIDES else own)))

    def list_terms(self, pair: Dims) -> Iterator[Term]:
        """Yield its terms as those of the pair."""
        for term in put_below(self.name, list_terms(self.architecture.blocks(self.dims(pair)))):
            yield term._replace(component=self.component(term.component))


def pair(dims: Dims) -> list[Term]:
    """Both sides and, where their widths differ, De·Dd + Dd of projection between them."""
    found = [*dims.encoder.list_terms(dims), *dims.decoder.list_terms(dims)]
    if dims.known.De != dims.known.Dd and not dims.cross_width:
        found += list_terms(module("linear", "enc_to_dec_proj", dims.De, dims.Dd, component="decoder.projection"))
    return found


def _tied_sides(value: Any, dims: Dims) -> int | None:
    """All of the encoder but its pooler, which the decoder would have shared (transformers 4)."""
    if value is not True or dims.encoder.family is not dims.decoder.family:
        return None
    own = dims.encoder.dims(dims)
    without_pooler = replace(own, switches={**own.switches, "add_pooling_layer": False})
    return -int(sum(term.total for term in list_terms(dims.encoder.architecture.blocks(without_pooler))))


IGNORED = {
    "tie_encoder_decoder": Ignored((False,), cost=_tied_sides),
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
        sides, values = _both_sides(config, overrides, self.known or partial(_built_in, release=self.release))
        cross_width = _cross_width(config, values)
        switches = {**sides, "cross_width": cross_width is not None}
        sizes = {f"{symbol}{SIDES[name]}": size for name in SIDES for symbol, size in values[name].sizes.items()}
        top = Family.resolve(self, config, {}, architecture)
        own = Ignored(
            (sizes.get("Ve"), sizes["Vd"]), because="each side has one of its own", fix="write it into a side"
        )
        known = {**IGNORED, VOCABULARY: own}
        ignored = find_keys_without_effect(known, config, Dims(sizes, switches), architecture.name)
        for_build = {name: {"model_type": sides[name].family.name, **values[name].for_build} for name in SIDES}
        assumed = {f"{name}.{key}": value for name in SIDES for key, value in values[name].assumed.items()}
        unknown = (*top.unknown, *(f"{name}.{key}" for name in SIDES for key in values[name].unknown))
        found = (*values["encoder"].findings, *values["decoder"].findings, *top.findings, *ignored)
        findings = (*found, *_blind(config, values["decoder"]))
        return Values(sizes, switches, {**top.for_build, **for_build}, findings, assumed, unknown)

    def keys_of(self, dims: Dims) -> ConfigKeys:
        """Those of either side, by the names that they have in the pair."""
        sides: list[Side] = [dims.encoder, dims.decoder]
        own = [side.family.keys.below(f"{side.name}.", SIDES[side.name]) for side in sides]
        rules = [rule.below(f"{side.name}.") for side in sides for rule in side.architecture.rules]
        if dims.cross_width:
            rules.append(_as_wide(dims).below("encoder."))
        one, other = own
        return ConfigKeys(
            (*one.sizes, *other.sizes),
            (*one.switches, *other.switches),
            (*one.choices, *other.choices),
            (*one.lists, *other.lists),
            (*one.indices, *other.indices),
            (*one.divisible, *other.divisible),
            (*one.equal, *other.equal),
            (*one.rules, *other.rules, *rules),
        )

    def component_names(self, dims: Dims) -> list[str]:
        """What either side's family has, under that side's name."""
        names = {
            side.component(own): None
            for side in (dims.encoder, dims.decoder)
            for own in side.family.component_names(side.dims(dims))
        }
        return parents_first({level: None for name in [*names, "decoder.projection"] for level in levels(name)})


def _built_in(name: str, release: Release) -> list[Family]:
    return [FAMILIES[name].at(release)] if name in FAMILIES else []


def _both_sides(
    config: ModelConfig, overrides: Mapping[str, object], known: Callable[[str], Sequence[Family]]
) -> tuple[dict[str, Side], dict[str, Values]]:
    sides: dict[str, Side] = {}
    values: dict[str, Values] = {}
    wrong = [_no_such_override(key) for key in overrides if key not in SIDES]
    for name in SIDES:
        try:
            sides[name], values[name] = _side(name, config, overrides.get(name, {}), known)
        except Unusable as unusable:
            wrong += [_in_side(finding, name) for finding in unusable.findings]
    if wrong:
        raise Unusable(*wrong)
    return sides, values


def _side(
    name: str, config: ModelConfig, overrides: object, known: Callable[[str], Sequence[Family]]
) -> tuple[Side, Values]:
    data = config.data.get(name)
    if not isinstance(data, dict):
        config.refuse(name, f"{name} is {shown(data)}: a pair has a config for each side", "write an object")
    if not isinstance(overrides, dict):
        message, fix = f"overrides.{name} is {shown(overrides)}", f"write {name} = {{ vocab_size = 21128 }}"
        raise Unusable(Finding("config-invalid", message, fix, table_key=("overrides",)))
    own = config.inner(name, data)
    families = known(own.model_type) if isinstance(own.model_type, str) else ()
    found = ((family, _class_for(name, family)) for family in families)
    family, architecture = next(((family, each) for family, each in found if each), (None, None))
    if family is None or architecture is None:
        message = f"the {name} is {shown(own.model_type)}, for which there is no closed form as {_A[name]}"
        own.refuse("model_type", message, "write closed_form = false to hold the pair to its budget alone", _UNKNOWN)
    values = family.resolve(own, overrides, architecture)
    return Side(name, family, architecture, values.switches), values


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


def _in_side(finding: Finding, name: str) -> Finding:
    """``overrides.vocab_size`` → ``overrides.decoder.vocab_size``."""
    if finding.table_key is None or len(finding.table_key) == 1:
        return finding
    return finding._replace(table_key=("overrides", name, *finding.table_key[1:]))


def _no_such_override(key: str) -> Finding:
    message = f"overrides.{printable(key)} changes nothing in a pair"
    fix = "write overrides = { decoder = { vocab_size = 21128 } }, for example"
    return Finding("config-invalid", message, fix, table_key=("overrides", key))


def _cross_width(config: ModelConfig, values: Mapping[str, Values]) -> int | None:
    """``cross_attention_hidden_size`` of the decoder, which says that it reads the encoder without a projection."""
    decoder = config.data["decoder"]
    width = decoder.get(CROSS_WIDTH) if isinstance(decoder, dict) else None
    encoder = values["encoder"].sizes["D"]
    if width is None or (type(width) is int and width == encoder):
        return width
    message = NOT_AS_WIDE.format(width=shown(width), encoder=exact(encoder or 0))
    line = config.line("decoder", CROSS_WIDTH)
    raise Unusable(Finding("config-invalid", message, f'write "{CROSS_WIDTH}": {encoder}', file=config.file, line=line))


def _as_wide(dims: Dims) -> Rule:
    """The same of a pair that has the key, and as wide an encoder."""
    width = dims.known.De
    key = next(size.key for size in dims.encoder.family.keys.sizes if size.symbol == "D")
    message = NOT_AS_WIDE.format(width=width, encoder=f"{{{key}:,}}")
    return Rule((key,), lambda values: bool(values[key] == width), message, f'write "{CROSS_WIDTH}": {{{key}}}')


def _blind(config: ModelConfig, decoder: Values) -> list[Finding]:
    """A decoder that cannot see the encoder is built without a word."""
    if decoder.switches.get("add_cross_attention", True):
        return []
    message = "the decoder has no cross-attention, so that it cannot see the encoder"
    fix = 'write "is_decoder": true and "add_cross_attention": true in the decoder'
    return [Finding("defaulted-key", message, fix, "warning", file=config.file, line=config.line("decoder"))]


ENCODER_DECODER = PairFamily("encoder-decoder", KEYS, (Architecture("EncoderDecoderModel", pair),))
