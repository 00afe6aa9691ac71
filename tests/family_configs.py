"""Draw configs for any family, and compare what its closed form says with what transformers builds.

Shared by the tests and by ``benchmarks/closed_forms.py``. Only small unusual sizes are drawn: a count of 7 layers of
width 13 goes wrong for the same reasons as one of 12 layers of width 768, and is built in a tenth of the time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from math import lcm
from typing import TYPE_CHECKING, Any

import transformers
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from pytest_bertsize.build import Built, _understood
from pytest_bertsize.build.child import instantiate, take_inventory
from pytest_bertsize.closed_forms import FAMILIES, Architecture, ClosedForm, Family
from pytest_bertsize.closed_forms.dims import Dims
from pytest_bertsize.config_vocabulary import ACTIVATIONS as ALL_ACTIVATIONS
from pytest_bertsize.model_config import ModelConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.config_keys import Choice, ConfigKeys, Listing, Size, Switch, Values
    from pytest_bertsize.inventory import Tensor

ACTIVATIONS = ("gelu", "relu", "prelu", "xielu")
"""One of each kind: with no parameter, with one and with two."""

PAIRS = [(family.name, each.name) for family in FAMILIES.values() for each in family.architectures]
"""Every family and architecture that there is a closed form for."""


ENCODERS = ("bert", "roberta", "electra", "xlm-roberta", "ernie")
DECODERS = ("bert", "roberta", "electra", "bert-generation")
"""Sides of a pair: each decoder can look at an encoder."""


@dataclass(frozen=True)
class Case:
    """One config of one architecture."""

    family: Family
    architecture: Architecture
    config: Mapping[str, Any]
    options: Mapping[str, bool]

    def values(self) -> Values:
        """What our own reader makes of it."""
        data = {"model_type": self.family.name, **self.config}
        config = ModelConfig("config.json", (), data, json.dumps(data), "")
        return self.family.resolve(config, {}, self.architecture)

    def closed_form(self) -> ClosedForm:
        values = self.values()
        return ClosedForm(self.architecture, Dims(values.sizes, {**values.switches, **self.options}))

    def built(self, config: Mapping[str, Any] | None = None) -> Built:
        """What transformers builds, in this process, by the code that the helper runs.

        :param config: what its config class is given; the file as it stands unless said otherwise.
        """
        request = {
            "family": self.family.name,
            "architecture": self.architecture.name,
            "config": self.config if config is None else config,
            "options": dict(self.options),
        }
        built = _understood({"name": "", **take_inventory(instantiate(request))}, "")
        assert isinstance(built, Built)
        return built

    def handed_over(self) -> Built | None:
        """What the gate has built, from what our reader hands over; ``None`` where that is the file's own config."""
        cleaned = self.values().for_build
        known = config_class(self.family.name)
        same = known(**cleaned).to_dict() == known(**self.config).to_dict()
        return None if same else self.built(cleaned)


def config_class(family: str) -> Any:
    """The library's config class of a family."""
    architecture = FAMILIES[family].architectures[0].name
    return getattr(transformers, architecture).config_class


@cache
def sample(family: str, architecture: str) -> tuple[Case, ...]:
    """A few dozen configs, the same each time."""
    drawn: list[Case] = []

    @settings(
        max_examples=40,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(family, architecture))
    def draw(case: Case) -> None:
        drawn.append(case)

    draw()
    return tuple(drawn)


def typical(family: str, architecture: str) -> tuple[Case, Case]:
    """Two configs of the sample: with the fewest and with the most of its switches on."""
    ordered = sorted(sample(family, architecture), key=lambda drawn: sum(v is True for v in drawn.config.values()))
    return ordered[0], ordered[-1]


def built_with(case: Case, changes: Mapping[str, Any]) -> tuple[Tensor, ...] | None:
    """What transformers builds from the case with ``changes`` written into its config, ``None`` where it refuses them."""
    try:
        return case.built({**case.config, **changes}).tensors
    except Exception:  # noqa: BLE001  (whatever a class says to a value of the wrong kind)
        return None


def mismatch(case: Case) -> str:
    """How the built model differs from the closed form, ``""`` if every tensor's name, shape, tie and trainability agree."""
    expected = {t.name: (t.shape, t.tied_to, t.trainable) for t in case.closed_form().inventory.tensors}
    wrong = []
    for built in filter(None, (case.built(), case.handed_over())):
        actual = {t.name: (t.shape, t.tied_to, t.trainable) for t in built.tensors}
        wrong += [
            f"{name}: closed form {expected.get(name)}, built {actual.get(name)}"
            for name in sorted(expected.keys() | actual.keys())
            if expected.get(name) != actual.get(name)
        ]
        wrong += [f"{name}: not tied as its class declares" for name in built.lost_ties()]
    return "\n".join(wrong)


def case(family: str, architecture: str, config: Mapping[str, Any], **options: bool) -> Case:
    found = FAMILIES[family].architecture(architecture)
    assert found is not None
    return Case(FAMILIES[family], found, config, {**found.options, **options})


@st.composite
def cases(draw: st.DrawFn, family: str, architecture: str) -> Case:
    """Any config of an architecture: each field that counts, each boolean both ways, sizes of any proportion."""
    keys = FAMILIES[family].keys
    config = draw(configs(keys) if family != "encoder-decoder" else pairs())
    found = FAMILIES[family].architecture(architecture)
    assert found is not None
    if found.labels and draw(st.sampled_from([True, True, True, False])):
        config["num_labels"] = draw(st.integers(1, 5))
    for rule in found.rules:
        assume(rule.holds({"num_labels": keys.labels, **complete(keys, config)}))
    return Case(
        FAMILIES[family], found, draw(as_written(keys, config)), {name: draw(st.booleans()) for name in found.options}
    )


@st.composite
def configs(draw: st.DrawFn, keys: ConfigKeys) -> dict[str, Any]:
    """Any config that a family's rules allow."""
    config: dict[str, Any] = {size.key: draw(_sizes(size)) for size in keys.sizes}
    for key, divisors in _divisors(keys).items():
        together = lcm(*(config[divisor] for divisor in divisors if config[divisor] is not None))
        if config[key] is not None:
            config[key] = together * draw(st.integers(1, 4))
    config |= {key: config[other] for key, other in keys.equal}
    config |= {index.key: draw(st.none() | st.integers(0, 8)) for index in keys.indices}
    config |= {choice.key: draw(_words(choice)) for choice in keys.choices}
    for listing in keys.lists:
        config[listing.key] = draw(_lists(listing, config.get(listing.as_long_as)))
    for switch in keys.switches:
        config[switch.key] = draw(st.booleans()) and (not switch.needs or config[switch.needs])
    optional = {size.key for size in keys.sizes if size.default is None}
    for rule in keys.all_rules:  # what may be left out is left out where it does not fit
        if rule.keys[0] in optional and not rule.holds(complete(keys, config)):
            config[rule.keys[0]] = None
    needed = {switch.needs for switch in keys.switches}
    named = [each.key for each in keys.switches] + [each.key for each in keys.choices]
    left_out = {key for key in named if key not in needed and draw(st.integers(0, 3)) == 0}
    indices = {index.key for index in keys.indices}
    config = {
        key: value for key, value in config.items() if (value is not None or key in indices) and key not in left_out
    }
    assume(all(rule.holds(complete(keys, config)) for rule in keys.all_rules))
    return config


@st.composite
def as_written(draw: st.DrawFn, keys: ConfigKeys, config: Mapping[str, Any]) -> dict[str, Any]:
    """The same config as a file may say it: some keys under an alias, a list of words as one string."""
    aliases = {size.key: (size.key, size.key, *size.aliases) for size in keys.sizes}
    separators = {listing.key: listing.separator for listing in keys.lists if listing.separator}
    written = {}
    for key, value in config.items():
        joined = key in separators and value and draw(st.booleans())
        name = draw(st.sampled_from(aliases[key])) if key in aliases else key
        written[name] = separators[key].join(value) if joined else value
    return written


@st.composite
def pairs(draw: st.DrawFn) -> dict[str, Any]:
    """A config for each side; half of the decoders have a width of their own."""
    encoder, decoder = draw(st.sampled_from(ENCODERS)), draw(st.sampled_from(DECODERS))
    sides = {
        "encoder": {"model_type": encoder, **draw(configs(FAMILIES[encoder].keys))},
        "decoder": {"model_type": decoder, **draw(configs(FAMILIES[decoder].keys)), "is_decoder": True},
    }
    if draw(st.booleans()):
        sides["decoder"] |= {"hidden_size": sides["encoder"]["hidden_size"], "num_attention_heads": 1}
    if draw(st.booleans()):
        sides["decoder"]["cross_attention_hidden_size"] = sides["encoder"]["hidden_size"]
    return sides


def complete(keys: ConfigKeys, config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with the library's default for what it leaves out."""
    named: list[Size | Switch | Choice | Listing] = [*keys.sizes, *keys.switches, *keys.choices, *keys.lists]
    return {**{each.key: each.default for each in named}, **config}


def _sizes(size: Size) -> st.SearchStrategy[int | None]:
    if size.repeats:
        return st.integers(max(size.minimum, 1), 3)
    if size.symbol in {"V", "P"}:  # room for the padding and the other special tokens that classes index
        return st.integers(9, 40)
    number = st.integers(size.minimum, 12)
    return number if size.default is not None else st.none() | number


def _divisors(keys: ConfigKeys) -> dict[str, list[str]]:
    """Each key with the keys that it has to be a multiple of."""
    divisors: dict[str, list[str]] = {}
    for key, divisor in keys.divisible:
        divisors.setdefault(key, []).append(divisor)
    return divisors


def _words(choice: Choice) -> st.SearchStrategy[str | None]:
    others = sorted(set(choice.words) - ALL_ACTIVATIONS)
    words = st.sampled_from(others) if others else st.nothing()
    if activations := [word for word in ACTIVATIONS if word in choice.words]:
        words |= st.sampled_from(activations)
    return words if choice.default is not None else st.none() | words


def _lists(listing: Listing, as_long_as: list[Any] | None) -> st.SearchStrategy[list[Any]]:
    if as_long_as is not None:
        return st.lists(st.integers(1, 3), min_size=len(as_long_as), max_size=len(as_long_as))
    if listing.of is int:
        return st.lists(st.integers(1, 3), min_size=len(listing.default) and 1, max_size=4)
    words = sorted(listing.words) or ["en", "de_DE", "hi"]
    return st.lists(st.sampled_from(words), min_size=len(listing.default) and 1, unique=True)
