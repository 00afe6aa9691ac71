"""A draft as a file of Python, in the blocks of :mod:`pytest_bertsize.closed_forms`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from keyword import iskeyword
from math import isfinite
from typing import TYPE_CHECKING

from pytest_bertsize.commands.explain.draft.folding import is_index
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import LABELS
from pytest_bertsize.config.vocabulary import SYNONYMS
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_bertsize.commands.explain.draft.drafting import Draft
    from pytest_bertsize.commands.explain.draft.fitting import Size
    from pytest_bertsize.commands.explain.draft.folding import Leaf, Part

WIDEST = 110
RESERVED = frozenset({LABELS, "r", *dir(Dims)})
"""Names that labels, an adapter's rank and what holds the sizes have."""
NUM_LABELS = "num_labels"
_ALONE = {"Linear": 2, "Embedding": 2, "LayerNorm": 1, "RMSNorm": 1}
"""Classes of torch that are a block of ours, and the axes of their weight."""
_BLOCK = {"Linear": "linear", "Embedding": "embedding", "LayerNorm": "layer_norm", "RMSNorm": "rms_norm"}
_BIASED = ("Linear", "LayerNorm")
_LEVELS = 2
"""Of modules, that are components."""

HEADER = '''\
"""DRAFT derived from the class that {factory} builds, and read by nobody.

It says what the class does, not what it should do: hold it against the paper, line by line, then write your name as
read_by. Until then every report says that it is a draft.{unchecked}
"""
'''
UNCHECKED = """

Nor was it checked with all keys changed at once, which the class refuses: sizes may go together in another way."""
KNOWN_AT = '''

def known_at(value: object) -> Refused:
    """A key that the draft does not follow: at another value the class may have other tensors."""
    return Refused((value,), f"the draft knows it as {value!r} alone", "have the closed form follow it")
'''
ONLY = '''

def only(key: str, value: int) -> Rule:
    """The draft has a number in place of a size that follows from this key."""
    message = f"{key} is not {value:,}, from which numbers of the draft follow"
    return Rule((key,), lambda values: bool(values[key] == value), message, "have the closed form follow it")
'''


def python(draft: Draft, factory: str, family: str, architecture: str) -> str:
    """The whole file.

    :param factory: what built it, ``module:function``.
    """
    return _Writer(draft, factory, family, architecture).text()


@dataclass
class _Writer:
    draft: Draft
    factory: str
    family: str
    architecture: str

    def text(self) -> str:
        root = self._call("block", [_text(""), *self._inside(self.draft.root, (), frozen=False)], 8)
        form = f'def blocks(dims: Dims) -> Block:\n    """Drafted; write here what it comes to."""\n    return {root}\n'
        body = f"\n\n{form}{self._helpers()}\n\n{self._family()}\n\n\n{_HOOK}"
        unchecked = "" if self.draft.is_checked else UNCHECKED
        return f"{HEADER.format(factory=self.factory, unchecked=unchecked)}\n{self._imports(body)}{body}"

    def _imports(self, body: str) -> str:
        used = sorted(name for name in _EXPORTED if re.search(rf"\b{name}\b(?=[\](,:]| ->|\)|$)", body, re.MULTILINE))
        names = sorted(used, key=lambda name: (name[0].islower(), name))
        listed = "".join(f"    {name},\n" for name in names)
        return f"from pytest_bertsize.closed_forms import (\n{listed})\n"

    # sizes

    @cached_property
    def symbols(self) -> Mapping[str, str]:
        """Of each key: that of the field, else the key itself."""
        of_field = {name: symbol for symbol, names in SYNONYMS.items() for name in names}
        found = {key: LABELS for key in self.draft.sizes if key == NUM_LABELS}
        for key in self.draft.sizes:
            own = key if _is_name(key) else "S"
            some = (of_field.get(key, own), own, *(f"{own}{index}" for index in range(2, len(self.draft.sizes) + 3)))
            taken = RESERVED.union(found.values())
            found.setdefault(key, next(each for each in some if each not in taken))
        return found

    def _size(self, size: Size) -> str:
        return size.written(lambda key: f"dims.{self.symbols[key]}")

    @cached_property
    def _layers(self) -> frozenset[str]:
        return frozenset(key for part in _all(self.draft.root) if part.times for key in part.times.keys)

    # blocks

    def _inside(self, part: Part, path: tuple[str, ...], *, frozen: bool) -> list[str]:
        """A module's own tensors, and the modules in it."""
        component = "" if path else "parameters"
        leaves = [self._leaf(each, frozen=frozen, component=component) for each in part.leaves]
        return [*leaves, *(self._part(_collapsed(each), path, frozen=frozen) for each in part.parts)]

    def _leaf(self, leaf: Leaf, *, frozen: bool, component: str = "") -> str:
        shape = ", ".join([_text(leaf.name), *map(self._size, leaf.shape)])
        text = f"parameter({shape}{f', component={_text(component)}' if component else ''})"
        if leaf.tied_to:
            text = _tied(f'block("", {text})', [leaf])
        if leaf.trainable or frozen:
            return text
        return f"frozen({text})" if leaf.tied_to else f'frozen(block("", {text}))'

    def _part(self, part: Part, above: tuple[str, ...], *, frozen: bool) -> str:
        all_frozen = not any(leaf.trainable for each in _all(part) for leaf in each.leaves)
        freezes = all_frozen and not frozen
        path = (*above, *(name for name in part.name.split(".") if name and not is_index(name)))
        holds = part.leaves or any(not each.name for each in part.parts)
        component = len(above) < _LEVELS and (len(path) >= _LEVELS or (holds and path != above))
        end = [f"component={_text(_component(path))}"] if component else []
        text = self._of_torch(part, end, frozen=frozen or all_frozen)
        if text is None:
            text = self._block(part, path, end, frozen=frozen or all_frozen)
        return f"frozen({text})" if freezes else text

    def _block(self, part: Part, path: tuple[str, ...], end: list[str], *, frozen: bool) -> str:
        inside = self._inside(part, path or ("",), frozen=frozen)
        if part.times is None:
            return self._call("block", [_text(part.name), *inside, *end], 4)
        start = self._size(part.start)
        begins = [f"start=dims.number({start})" if part.start.keys else f"start={start}"] * (start != "0")
        return self._call("repeat", [_text(part.name), self._size(part.times), *inside, *begins, *end], 4)

    def _of_torch(self, part: Part, end: list[str], *, frozen: bool) -> str | None:
        """A block that is a class of torch's own; ``None`` where it has not the tensors that such a class has."""
        own = {leaf.name: leaf for leaf in part.leaves}
        weight, bias = own.get("weight"), own.get("bias")
        known = {"weight"} if bias is None or part.kind not in _BIASED else {"weight", "bias"}
        if part.times or part.parts or weight is None or own.keys() != known:
            return None
        if len(weight.shape) != _ALONE.get(part.kind) or (bias and bias.shape != weight.shape[:1]):
            return None
        if not frozen and not all(leaf.trainable for leaf in part.leaves):
            return None
        turned = reversed(weight.shape) if part.kind == "Linear" else weight.shape
        without = ["bias=False"] * (bias is None and part.kind in _BIASED)
        text = self._call(_BLOCK[part.kind], [_text(part.name), *map(self._size, turned), *without, *end], 4)
        return _tied(text, part.leaves)

    @staticmethod
    def _call(name: str, arguments: list[str], indent: int) -> str:
        """On one line where that is short, else a line each."""
        flat = f"{name}({', '.join(arguments)})"
        if len(arguments) <= _FLAT and "\n" not in flat and len(flat) < WIDEST:
            return flat
        inner = "".join(f"{each},\n" for each in arguments)
        lines = "".join(f"    {line}\n" if line else "\n" for line in inner.splitlines())
        text = f"{name}(\n{lines})"
        return text.replace("\n", "\n    ") if indent == _IN_FUNCTION else text

    # the family

    def _helpers(self) -> str:
        return f"{KNOWN_AT if self.draft.fixed else ''}{ONLY if self.draft.unfitted else ''}"

    def _family(self) -> str:
        labels = ", labels=True" if NUM_LABELS in self.draft.sizes else ""
        keys = "".join(self._keys())
        return (
            f"FAMILY = Family(\n    {_text(self.family)},  # the config's model_type, or the table's family\n"
            f"    ConfigKeys(\n{keys}    ),\n"
            f"    (Architecture({_text(self.architecture)}, blocks{labels}),),\n"
            f"    drafted={_text(self.factory)},\n"
            '    read_by="",  # who has held it against the paper\n)'
        )

    def _keys(self) -> Iterator[str]:
        """The arguments of ``ConfigKeys``."""
        sizes = {key: value for key, value in self.draft.sizes.items() if key != NUM_LABELS}
        rows = [f"{' ' * 12}{self._declared(key, value)},\n" for key, value in sizes.items()]
        yield f"        sizes=(\n{''.join(rows)}        ),\n" if rows else "        sizes=(),\n"
        if self.draft.unfitted:
            unfitted = self.draft.unfitted.items()
            comments = [f"# {printable(what)}: a number, moved by {_comment(keys)}" for what, keys in unfitted]
            keys = dict.fromkeys(key for keys in self.draft.unfitted.values() for key in keys)
            rules = [f"only({_text(key)}, {self.draft.sizes[key]})," for key in keys]
            lines = "".join(f"{' ' * 12}{line}\n" for line in [*comments, *rules])
            yield f"        rules=(\n{lines}        ),\n"
        if self.draft.inert:
            names = "".join(f"{' ' * 16}{_text(key)},\n" for key in sorted(self.draft.inert))
            yield f"        inert=frozenset(\n            {{\n{names}            }}\n        ),\n"
        if self.draft.fixed:
            refused = [
                f"{' ' * 12}{_text(key)}: known_at({_value(value)}),\n" for key, value in self.draft.fixed.items()
            ]
            entries = "".join(refused)
            yield f"        refused={{\n{entries}        }},\n"

    def _declared(self, key: str, value: int) -> str:
        more = ", repeats=True" if key in self._layers else ""
        more += "" if value > 0 else f", minimum={value}"
        return f"Size({_text(key)}, {_text(self.symbols[key])}, default={value}{more})"


def _comment(keys: Iterable[str]) -> str:
    """Behind a hash mark: a key with a line's end in it would write Python."""
    return ", ".join(map(printable, keys))


_FLAT = 6
"""Arguments on one line."""
_IN_FUNCTION = 8
_HOOK = """\
def pytest_bertsize_closed_forms() -> list[Family]:
    return [FAMILY]
"""
_EXPORTED = (
    *("Architecture", "Block", "ConfigKeys", "Dims", "Family", "Refused", "Rule", "Size", "block", "embedding"),
    *("frozen", "layer_norm", "linear", "parameter", "repeat", "rms_norm", "tied"),
)


def _is_name(text: str) -> bool:
    """Whether Python takes it for a name, and for no other one: it makes two letters of a ligature."""
    return text.isascii() and text.isidentifier() and not iskeyword(text)


def _text(name: str) -> str:
    """In quotes, and in characters that Python reads as they were meant; JSON writes two for one of a higher plane."""
    return '"' + name.encode("unicode_escape").decode().replace('"', r"\"") + '"'


def _value(value: object) -> str:
    """What a config says, as Python; JSON has numbers that are none."""
    match value:
        case str():
            return _text(value)
        case float() if not isfinite(value):
            return f'float("{value}")'
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return f"{{{', '.join(f'{_value(key)}: {_value(each)}' for key, each in value.items())}}}"
    return repr(value)


def _all(part: Part) -> Iterator[Part]:
    yield part
    for each in part.parts:
        yield from _all(each)


def _collapsed(part: Part) -> Part:
    """``encoder`` that has nothing but its layers → ``encoder.layer``."""
    while not (part.leaves or part.kind or part.times) and len(part.parts) == 1 and part.parts[0].name:
        (inner,) = part.parts
        part = replace(inner, name=f"{part.name}.{inner.name}")
    return part


def _component(path: tuple[str, ...]) -> str:
    """The two outermost modules; a total is no component."""
    return ".".join(f"{name}_" if name in {"total", "trainable", "bytes", "flops"} else name for name in path[:_LEVELS])


def _tied(text: str, leaves: tuple[Leaf, ...] | list[Leaf]) -> str:
    sources = [(leaf.name, leaf.tied_to) for leaf in leaves if leaf.tied_to]
    if not sources:
        return text
    named = all(_is_name(name) for name, _ in sources)
    if named:
        return f"tied({text}, {', '.join(f'{name}={_text(source)}' for name, source in sources)})"
    return f"tied({text}, **{_value(dict(sources))})"
