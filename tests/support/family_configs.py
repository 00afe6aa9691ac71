"""Draw configs for any family, and compare what its closed form says with what transformers builds.

Shared by the tests and by ``benchmarks/closed_forms.py``. Only small unusual sizes are drawn: a count of 7 layers of
width 13 goes wrong for the same reasons as one of 12 layers of width 768, and is built in a tenth of the time.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import lcm
from random import Random
from typing import TYPE_CHECKING, Any

import transformers
from hypothesis import strategies as st

from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.builder.child.making import instantiate, read_config_values
from pytest_bertsize.builder.messages import Built, ConfigSaid, Request
from pytest_bertsize.closed_forms import FAMILIES, Architecture, ClosedForm, Family
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.json_and_toml import parse_json
from pytest_bertsize.config.keys import ACTIVATIONS as ALL_ACTIVATIONS
from pytest_bertsize.release import read_version
from pytest_bertsize.review.build_findings import find_read_otherwise

if TYPE_CHECKING:
    from pytest_bertsize.config.keys import Choice, ConfigKeys, Listing, Size, Switch, Values
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Tensor

ACTIVATIONS = ("gelu", "relu", "prelu", "xielu")
"""One of each kind: with no parameter, with one and with two."""
EVENLY, MOSTLY = 0.5, 0.875
RELEASE = read_version(transformers.__version__)
THERE = {name: family.at(RELEASE) for name, family in FAMILIES.items()}
"""Families as the release that is there has them."""
PAIRS = [(family.name, each.name) for family in FAMILIES.values() for each in family.architectures]
"""Every family and architecture that there is a closed form for."""
ENCODERS = ("bert", "roberta", "electra", "xlm-roberta", "ernie")
DECODERS = ("bert", "roberta", "electra", "bert-generation")
"""Sides of a pair: each decoder can look at an encoder."""


@dataclass(frozen=True)
class Case:
    family: Family
    architecture: Architecture
    config: Mapping[str, Any]
    options: Mapping[str, bool]

    @property
    def file(self) -> ModelConfig:
        data = {"model_type": self.family.name, **self.config}
        return parse_json(json.dumps(data).encode(), "config.json")

    @property
    def chosen(self) -> tuple[Family, Architecture]:
        return self.family.of_config(self.file, self.architecture, Registry(release=self.family.release).families)

    def values(self) -> Values:
        family, architecture = self.chosen
        return family.resolve(self.file, {}, architecture)

    def closed_form(self) -> ClosedForm:
        values, (_, architecture) = self.values(), self.chosen
        switches = {**values.switches, **self.options}
        return ClosedForm(architecture, Dims(values.sizes, switches, release=self.family.release))

    def built(self, config: Mapping[str, Any] | None = None) -> Built:
        """What transformers builds of a config, the file's own unless given, in this process by the helper's code."""
        values = self.config if config is None else config
        return take_inventory(
            instantiate(Request("", self.family.name, self.architecture.name, values, dict(self.options)))
        )

    def config_said(self) -> ConfigSaid:
        """What the library's config object says to what the closed form assumes."""
        values = self.values()
        asked = Request("", self.family.name, self.architecture.name, values.for_build, {})
        return read_config_values(asked._replace(asked=tuple(values.assumed), unknown=values.unknown))

    def read_otherwise(self) -> list[str]:
        """What the library reads otherwise than the closed form does."""
        found = find_read_otherwise(self.values(), self.file, self.config_said(), is_off=False)
        return [each.message for each in found]


def config_class(family: str) -> Any:
    architecture = FAMILIES[family].architectures[0].name
    return getattr(transformers, architecture).config_class


@cache
def sample(family: str, architecture: str) -> tuple[Case, ...]:
    seeds = (f"{architecture} {seed}" for seed in range(40))  # each class has configs of its own
    return tuple(drawn(family, architecture, Random(seed)) for seed in seeds)  # noqa: S311


@cache
def typical(family: str, architecture: str) -> tuple[Case, Case]:
    """The two configs of the sample that differ in the most switches, words and sizes that may be left out."""
    found = sample(family, architecture)
    keys = found[0].family.keys
    switches: tuple[Switch | Choice | Listing, ...] = (*keys.switches, *keys.choices, *keys.lists)
    optional = [size.key for size in keys.sizes if size.default is None]

    def marks(case: Case) -> list[object]:
        named = (case.config.get(each.key) for each in switches)
        return [*named, *(key in case.config for key in optional), *case.options.values()]

    one, other = max(combinations(found, 2), key=lambda pair: sum(map(operator.ne, *map(marks, pair))))
    few, many = sorted((one, other), key=lambda drawn: sum(v is True for v in drawn.config.values()))
    return few, many


def told(tensors: Iterable[Tensor]) -> dict[str, tuple[object, ...]]:
    return {tensor.name: (tensor.shape, tensor.tied_to, tensor.trainable) for tensor in tensors}


def mismatch(case: Case) -> str:
    """How the built model differs from the closed form, ``""`` if every tensor's name, shape, tie and trainability agree.

    It is built from the file, and from what our reader hands over if that is another config.
    """
    expected, known, handed = told(case.closed_form().tensors), config_class(case.family.name), case.values().for_build
    wrong, built = case.read_otherwise(), [case.built()]
    if known(**handed).to_dict() != known(**case.config).to_dict():
        built.append(case.built(handed))
    for each in built:
        actual = told(each.tensors)
        wrong += [
            f"{name}: closed form {expected.get(name)}, built {actual.get(name)}"
            for name in sorted(expected.keys() | actual.keys())
            if expected.get(name) != actual.get(name)
        ]
        wrong += [f"{name}: not tied as its class declares" for name in each.lost_ties()]
    return "\n".join(wrong)


def case(family: str, architecture: str, config: Mapping[str, Any], **options: bool) -> Case:
    found = THERE[family].architecture(architecture)
    assert found is not None
    return Case(THERE[family], found, config, {**found.options, **options})


def cases(family: str, architecture: str) -> st.SearchStrategy[Case]:
    """Any config of an architecture: each field that counts, each boolean both ways, sizes of any proportion.

    Hypothesis draws the seed, and a fair generator the config: what matters are combinations, not extremes.
    """
    return st.integers(0, 2**32 - 1).map(lambda seed: drawn(family, architecture, Random(seed)))  # noqa: S311


def drawn(family: str, architecture: str, rng: Random) -> Case:
    """One config that the rules of a family and of its architecture allow."""
    start = case(family, architecture, {})
    keys, found = start.family.keys, start.architecture
    config = _pair(rng) if family == "encoder-decoder" else _allowed(keys, found, rng)
    options = {name: rng.random() < EVENLY for name in found.options}
    return replace(start, config=_as_written(keys, config, rng), options=options)


def _allowed(keys: ConfigKeys, architecture: Architecture, rng: Random) -> dict[str, Any]:
    for _ in range(1_000):
        config = _config(keys, rng)
        if architecture.labels and rng.random() < MOSTLY:
            config["num_labels"] = rng.randint(1, 5)
        values = {"num_labels": keys.labels, **complete(keys, config)}
        if all(rule.holds(values) for rule in (*keys.all_rules, *architecture.rules)):
            return config
    raise AssertionError(f"no config of {architecture.name} keeps its rules")


def _config(keys: ConfigKeys, rng: Random) -> dict[str, Any]:
    """Values for all keys of a family, fitted to each other where they can be; some keys are left out."""
    config: dict[str, Any] = {size.key: _size(size, rng) for size in keys.sizes}
    for key in dict.fromkeys(key for key, _ in keys.divisible):
        divisors = (config[divisor] for multiple, divisor in keys.divisible if multiple == key)
        if config[key] is not None:
            config[key] = lcm(*filter(None, divisors)) * rng.randint(1, 4)
    config |= {key: config[other] for key, other in keys.equal}
    config |= {index.key: rng.choice([None, rng.randint(0, 8)]) for index in keys.indices}
    config |= {choice.key: _word(choice, rng) for choice in keys.choices}
    for listing in keys.lists:
        config[listing.key] = _list(listing, config.get(listing.as_long_as), rng)
    for switch in keys.switches:
        config[switch.key] = rng.random() < EVENLY and (not switch.needs or config[switch.needs])
    if config.get("d_head") and "n_head" in config and "d_model" in config:  # XLNet takes no other
        config["d_head"] = rng.choice([config["d_head"], max(1, config["d_model"] // config["n_head"])])
    _leave_out(keys, config, rng)
    return config


def _leave_out(keys: ConfigKeys, config: dict[str, Any], rng: Random) -> None:
    """Drop what is ``None``, what does not fit and may be left out, and now and then a key for its default."""
    optional = {size.key for size in keys.sizes if size.default is None}
    indices = {index.key for index in keys.indices}
    for rule in keys.all_rules:
        if rule.keys[0] in optional and not rule.holds(complete(keys, config)):
            config[rule.keys[0]] = None
    needed = {switch.needs for switch in keys.switches}
    named = [each.key for each in keys.switches] + [each.key for each in keys.choices]
    now_and_then = {key for key in named if key not in needed and rng.random() > MOSTLY}
    for key in list(config):
        if key in now_and_then or (config[key] is None and key not in indices):
            del config[key]


def _as_written(keys: ConfigKeys, config: Mapping[str, Any], rng: Random) -> dict[str, Any]:
    """The same config as a file may say it: some keys under an alias, a list of words as one string."""
    aliases = {size.key: (size.key, size.key, *size.aliases) for size in keys.sizes}
    separators = {listing.key: listing.separator for listing in keys.lists if listing.separator}
    written = {}
    for key, value in config.items():
        joined = key in separators and value and rng.random() < EVENLY
        written[rng.choice(aliases.get(key, (key,)))] = separators[key].join(value) if joined else value
    return written


def _pair(rng: Random) -> dict[str, Any]:
    """A config for each side; half of the decoders have a width of their own."""
    encoder, decoder = rng.choice(ENCODERS), rng.choice(DECODERS)
    sides = {
        side: {"model_type": name, **_allowed(THERE[name].keys, FAMILIES[name].architectures[0], rng)}
        for side, name in (("encoder", encoder), ("decoder", decoder))
    }
    sides["decoder"]["is_decoder"] = True
    if rng.random() < EVENLY:
        sides["decoder"] |= {"hidden_size": sides["encoder"]["hidden_size"], "num_attention_heads": 1}
    return sides


def complete(keys: ConfigKeys, config: Mapping[str, Any]) -> dict[str, Any]:
    named: tuple[Size | Switch | Choice | Listing, ...] = (*keys.sizes, *keys.switches, *keys.choices, *keys.lists)
    return {**{each.key: each.default for each in named}, **config}


def _size(size: Size, rng: Random) -> int | None:
    if size.default is None and rng.random() < EVENLY:
        return None
    if size.repeats:
        return rng.randint(max(size.minimum, 1), 3)
    if size.symbol in {"V", "P"}:  # room for the padding and the other special tokens that classes index
        return rng.randint(9, 40)
    return rng.randint(size.minimum, 12)


def _word(choice: Choice, rng: Random) -> str | None:
    """One of each kind of activation, and all other words that there are."""
    words = [word for word in sorted(choice.words) if word in ACTIVATIONS or word not in ALL_ACTIVATIONS]
    return rng.choice([None, *words] if choice.null or choice.default is None else words)


def _list(listing: Listing, as_long_as: list[Any] | None, rng: Random) -> list[Any]:
    length = len(as_long_as) if as_long_as is not None else rng.randint(len(listing.default) and 1, 4)
    if listing.of is int:
        return [rng.randint(1, 3) for _ in range(length)]
    words = sorted(listing.words) or ["en", "de_DE", "hi"]
    return rng.sample(words, min(length, len(words)))
