"""What is asked of the helper process, and what it answers: one line of JSON each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from pytest_bertsize.builder import structure
from pytest_bertsize.builder.confined import NOT_IMPORTED
from pytest_bertsize.inventory import FLOAT32, Inventory, Loading, Tensor, common
from pytest_bertsize.wording import printable, shown

LONGEST_REASON = 700
"""Characters that are shown of why a model was not built: torch's sentences end with its advice."""


@dataclass(frozen=True, slots=True)
class Request:
    """One model to build: a known class, by name, and a clean config."""

    name: str
    family: str
    architecture: str
    config: Mapping[str, Any]
    options: Mapping[str, bool]
    module: str = "transformers"
    """Where the class is found."""
    root: str = ""
    """The project's folder, from which a module of its own is imported."""
    factory: str = ""
    """``module:function`` of the project, which builds the model in place of the class."""
    config_given: bool = True
    """Whether the factory is called with the config."""
    config_may_be_read: bool = False
    """Whether a factory that takes no argument reads what it needs itself."""
    modules: tuple[Mapping[str, Any], ...] = ()
    """Those of a folder of several, each by its kind, its place and its own config."""
    adapter: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of PEFT's ``LoraConfig``; empty for a model without an adapter."""
    filed: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Names and shapes of a checkpoint, to ask the library what it makes of them."""
    seq_len: int = 0
    """Tokens of a forward pass whose operations are counted; 0: none is made."""
    asked: tuple[str, ...] = ()
    """Keys that the config object is asked for its values of; ``encoder.hidden_size`` for one in an object."""
    unknown: tuple[str, ...] = ()
    """Keys that are not handed over; asked is whether the config's class has them."""
    hub: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What ``from_pretrained`` is answered with by name, where code of the project runs: a ``config``, its ``file`` and
    ``folder``, or the ``error`` that it has."""
    device: str = "meta"
    """Where it is built, ``meta`` or ``cpu``."""
    seconds: float = 0.0
    """That it may take; 0: what every model may."""
    memory: int = 0
    """Bytes that it may take; 0: what every model of its kind may."""

    def fields(self) -> dict[str, Any]:
        """By name, to be written as JSON; ``asdict`` copies all that is in them."""
        return {each: getattr(self, each) for each in self.__slots__}


class ConfigSaid(NamedTuple):
    """What the library's config object says, made from what the file writes."""

    said: Mapping[str, Any]
    """By key that it was asked for, as far as it has it: a number, a boolean, a word, ``None``, or a list of them."""
    read: tuple[str, ...] = ()
    """Keys of the file that were not handed over, and that its class has."""
    by: str = "transformers"
    """``"transformers 5.23.0"``, or the name of a class that is no library's."""


class Buffer(NamedTuple):
    """A tensor of a module that is no parameter."""

    name: str
    numbers: int
    """0 under a second name of the same tensor."""
    dtype: str
    bytes: int
    saved: bool
    """Whether a checkpoint has it (``persistent``)."""


class Answered(NamedTuple):
    """A name that code of the project asked ``from_pretrained`` for, and was answered."""

    name: str
    origin: str
    """Of the config that answered it."""
    tokens: int | None = None
    """That its tokenizer was taken to have; ``None`` where nobody asked, or the tokenizer is there."""


class Built(NamedTuple):
    """What the helper found, before components are known."""

    tensors: tuple[Tensor, ...]
    """Without components: those come from the closed form, joined by name."""
    declared_ties: Mapping[str, str]
    """Each tied name and its source, as the class itself declares them."""
    buffers: tuple[Buffer, ...] = ()
    """What a checkpoint may hold beside parameters."""
    flops: tuple[tuple[str, int], ...] | None = None
    """What each module of a forward pass takes itself, without the modules in it."""
    problems: Mapping[str, str] = MappingProxyType({})
    """Why there is no :attr:`loading` or :attr:`flops`, though it was asked for."""
    config: ConfigSaid | None = None
    """``None`` where nothing was asked, as of a model that a function of the project builds."""
    loading: Loading | None = None
    """What transformers makes of a checkpoint; ``None`` of a model that is none of its classes."""
    transformers: str = ""
    """The version that was imported where it was built."""
    answered: tuple[Answered, ...] = ()
    kinds: Mapping[str, str] = MappingProxyType({})
    """Of what code of the project has built: the paths of modules of torch's own classes, and what these are called."""
    stood_in: tuple[str, ...] = ()
    """What that code imports and is not there, or is there by another name: a sentence each."""
    torch: str = ""
    """The version that was imported where it was built."""

    def inventory(self, expected: Inventory | None, components: Mapping[str, str] | None = None) -> Inventory:
        """Give every tensor its component: that of the closed form, else the nearest enclosing one.

        :param expected: ``None`` where there is no closed form.
        :param components: by name, where there is none; ``None``: by the modules that there are.
        """
        if expected:
            component: Callable[[str], str] = partial(_component, expected=expected)
        else:
            component = (structure.components(self.tensors) if components is None else components).__getitem__
        owners = self._owners(expected) if expected else {}
        return Inventory(
            tuple(t._replace(component=component(t.name), tied_to=owners.get(t.name, t.tied_to)) for t in self.tensors)
        )

    def _owners(self, expected: Inventory) -> dict[str, str | None]:
        """Of tensors that are one, the owner is that of the closed form, whichever was registered first."""
        groups: dict[str, list[str]] = {}
        for tensor in self.tensors:
            groups.setdefault(tensor.tied_to or tensor.name, []).append(tensor.name)
        found: dict[str, str | None] = {}
        for names in (names for names in groups.values() if len(names) > 1):
            free = [name for name in names if name in expected.by_name and not expected.by_name[name].tied_to]
            if len(free) == 1:
                found |= {name: None if name == free[0] else free[0] for name in names}
        return found

    def lost_ties(self) -> list[str]:
        """Names on which the tensors' identity and the class's own declaration disagree."""
        by_identity = {tensor.name: tensor.tied_to for tensor in self.tensors if tensor.tied_to}
        sources = {name: _last_source(name, self.declared_ties) for name in self.declared_ties}
        return sorted(
            name for name in by_identity.keys() | sources.keys() if by_identity.get(name) != sources.get(name)
        )


class NotBuilt(NamedTuple):
    """Why there is no model, as the rest of a sentence: ``"it was not built within 30 s"``."""

    reason: str
    fix: str = ""
    """What to do about it, where the helper process knows."""


def _last_source(name: str, ties: Mapping[str, str]) -> str:
    seen = {name}
    while (name := ties[name]) in ties and name not in seen:
        seen.add(name)
    return name


def _component(name: str, expected: Inventory) -> str:
    """The closed form's component of a name, else that of the longest module path they share."""
    if known := expected.by_name.get(name):
        return known.component
    parts = name.split(".")
    for depth in range(len(parts) - 1, 0, -1):
        prefix = ".".join(parts[:depth]) + "."
        enclosed = {t.component for t in expected.tensors if t.name.startswith(prefix)}
        if enclosed:
            return common(enclosed, "unexpected")
    return "unexpected"


def understood(message: Mapping[str, Any], name: str) -> Built | NotBuilt:
    """:raises ValueError, TypeError, KeyError: when the message is no inventory of the model ``name``."""
    if message["name"] != name:
        raise ValueError(message)
    if "error" in message:
        return NotBuilt(printable(str(message["error"]), LONGEST_REASON), printable(str(message.get("fix", ""))))
    tensors = tuple(_tensor(*row) for row in message["tensors"])
    if not tensors:
        return NotBuilt("it has no parameters")
    if odd := next((tensor.name for tensor in tensors if tensor.name != printable(tensor.name)), None):
        return NotBuilt(f"it has a parameter named {shown(odd)}")
    return Built(
        tensors,
        {str(name): str(source) for name, source in message["declared_ties"].items()},
        tuple(_buffer(*row) for row in message.get("buffers", ())),
        tuple(_flops(*row) for row in message["flops"]) if "flops" in message else None,
        {str(what): printable(str(why)) for what, why in message.get("problems", {}).items()},
        _config_said(**message["config"]) if "config" in message else None,
        _loading(**message["loading"]) if "loading" in message else None,
        printable(str(message.get("transformers", ""))),
        tuple(_answered(*row) for row in message.get("answered", ())),
        {str(path): str(kind) for path, kind in message.get("kinds", {}).items()},
        tuple(printable(str(each)) for each in message.get("stood_in", ())),
        printable(str(message.get("torch", ""))),
    )


def message(result: Built | NotBuilt, name: str) -> dict[str, Any]:
    """What :func:`understood` reads again as the same result, in a process that has not heard the helper."""
    if isinstance(result, NotBuilt):
        return {"name": name, "error": result.reason, "fix": result.fix}
    known = {
        "name": name,
        "tensors": [(e.name, e.shape, e.trainable, e.tied_to, e.dtype) for e in result.tensors],
        "declared_ties": result.declared_ties,
        "transformers": result.transformers,
        "torch": result.torch,
        "kinds": dict(result.kinds),
        "buffers": [(each.name, each.numbers, each.dtype, each.bytes, each.saved) for each in result.buffers],
        "loading": result.loading and {"rows": result.loading.rows, "unsaved": sorted(result.loading.unsaved)},
        "flops": result.flops,
        "problems": dict(result.problems),
        "config": result.config._asdict() if result.config else None,
        "answered": [(each.name, each.origin, each.tokens) for each in result.answered] or None,
        "stood_in": [*result.stood_in] or None,
    }
    return {what: value for what, value in known.items() if value is not None}


def _buffer(name: object, numbers: object, dtype: object, size: object, saved: object) -> Buffer:
    if not (type(numbers) is int and type(size) is int and numbers >= 0 and size >= 0 and isinstance(saved, bool)):
        raise ValueError(name)
    return Buffer(printable(str(name)), numbers, printable(str(dtype)), size, saved)


def _answered(name: object, origin: object, tokens: object) -> Answered:
    if not (tokens is None or type(tokens) is int):
        raise ValueError(name)
    return Answered(printable(str(name)), printable(str(origin)), tokens)


def _config_said(said: Mapping[str, object], read: Sequence[object], by: object) -> ConfigSaid:
    values = {str(key): printable(each) if isinstance(each, str) else each for key, each in said.items()}
    if not all(_is_plain(each) for each in values.values()):
        raise ValueError(said)
    return ConfigSaid(values, tuple(str(key) for key in read), printable(str(by)))


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(_is_plain(each) for each in value)
    return value is None or isinstance(value, bool | int | float | str)


def _loading(rows: Sequence[tuple[object, object, Sequence[object]]], unsaved: Sequence[object]) -> Loading:
    tensors = [(_tensor(name, shape, True, None), known_as) for name, known_as, shape in rows]  # noqa: FBT003
    known = [(each.name, None if known_as is None else str(known_as), each.shape) for each, known_as in tensors]
    return Loading(tuple(known), frozenset(map(str, unsaved)))


def _flops(module: object, operations: object) -> tuple[str, int]:
    if not (isinstance(module, str) and type(operations) is int and operations >= 0):
        raise ValueError(module)
    return module, operations


def _tensor(
    name: object, shape: Sequence[object], trainable: object, tied_to: object, dtype: object = FLOAT32
) -> Tensor:
    if not (isinstance(name, str) and isinstance(trainable, bool) and (tied_to is None or isinstance(tied_to, str))):
        raise TypeError(name)
    for size in shape:
        if type(size) is not int or size < 0:
            raise ValueError(shape)
    held_as = FLOAT32 if dtype == FLOAT32 else printable(str(dtype))
    return Tensor(name, tuple(cast("Sequence[int]", shape)), "", trainable, tied_to, held_as)


def way_out(reason: str, *, own: bool, on_cpu: bool = False) -> str:
    """What to write, by the reason why a model was not built.

    :param own: whether a function of the project built it.
    :param on_cpu: whether it was to have values.
    """
    if "pytest-bertsize[peft]" in reason:
        return "install it beside pytest-bertsize"
    for of, (took, unit) in _TOOK.items():
        if found := took.search(reason):
            return _more(of, float((found[1] or "1000").replace(",", "")) * unit, own=own, on_cpu=on_cpu)
    fixes = _OF_FACTORIES if own else _OF_CLASSES
    return next(fix for part, fix in fixes.items() if part in reason)


def _more(of: str, allowed: float, *, own: bool, on_cpu: bool) -> str:
    """What to write for a model that has taken all that it may have; the table may allow it more."""
    more = next((said for least, said in _STEPS[of].items() if least > allowed), "")
    instead = "declare a smaller model" if not own else _INSTEAD[of]
    if not more:
        return instead
    return f"write build.{of} = {more}" if on_cpu else f"{instead}; if that is what it takes, build.{of} = {more}"


_TOOK = {
    "memory": (
        re.compile(r"it took more than ([0-9,]+) MB of memory|MemoryError|(?:not enough|allocate|out of) memory"),
        10**6,
    ),
    "seconds": (re.compile(r"it was not built within ([0-9.]+) s"), 1),
}
"""How it is said that something was used up, and how much; without a number where the system has refused the memory."""
_STEPS: Mapping[str, Mapping[int, str]] = {
    "memory": {10**9: '"1GB"', 4 * 10**9: '"4GB"', 16 * 10**9: '"16GB"'},
    "seconds": {120: "120", 600: "600"},
}
"""What a table may write, the least first."""
_INSTEAD = {
    "memory": "build on the device that is set, which is meta: nothing has to be loaded or moved",
    "seconds": "build the module, and nothing else",
}
"""Of a function of the project."""
TO_BUILD = (
    "pip install 'pytest-bertsize[build]'",
    'name the project\'s own environment (python = ".venv/bin/python" in [tool.bertsize])',
)
"""The ways out where torch or transformers are not installed."""
_NOT_INSTALLED = {
    NOT_IMPORTED: (
        f"{', '.join(TO_BUILD)}, or hold budgets to the closed form alone (--bert-budget-no-build, check --no-build)"
    )
}
_KILLED = {"was killed by SIGKILL": "the system does so where memory runs out, whatever the model: run it with more"}
_CRASHED = "that is a crash, and no word on the config: try another release of torch or transformers"
_OF_CLASSES = {
    **_NOT_INSTALLED,
    **_KILLED,
    "was killed by": _CRASHED,
    "ended early": _CRASHED,
    "ModuleNotFoundError": (
        "make the module importable from the project's root, or correct defined_in of its closed form"
    ),
    "has no model class": "install a version of transformers that has it, or correct the name",
    "Padding_idx": "write a pad_token_id below vocab_size",
    "": "correct the value that the class refuses",
}
"""Ways out by a part of the reason; the first that fits."""
_IMPORTABLE = (
    "make the module importable from the project's root (pip install -e . where it is in src), or correct factory"
)
_OF_FACTORIES = {
    **_NOT_INSTALLED,
    **_KILLED,
    "ModuleNotFoundError": _IMPORTABLE,
    "ImportError": _IMPORTABLE,
    "No such file or directory": (
        "a count needs no weights: load a file of them only where it is there (if Path(file).exists()), and hold any "
        "other in the project"
    ),
    "": "mend the factory, or what it calls",
}
