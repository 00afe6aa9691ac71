"""Give each tensor of a built model its component: the closed form's, else the table's, else the tensor's module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pytest_bertsize.inventory import Inventory, find_nearest, group_by_module, levels
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.inventory import Tensor

MOST_ROWS = 12
LOOSE, OTHERS = "parameters", "others"  # tensors beside modules, and modules without a row of their own
_WILD = frozenset("*?[")


class NoComponent(ValueError):
    """The error for a component (``key``) that has no tensor, another component's tensor, or the name of a module."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def find_components(
    tensors: Iterable[Tensor],
    asked: Collection[str] = (),
    named: Mapping[str, Collection[str]] | None = None,
    former: Iterable[Tensor] = (),
) -> dict[str, str]:
    """Return the component of each tensor: the one that the table names, else the module that the tensor is in.

    Modules are divided, the largest first, up to a dozen components. One that a budget limits (``asked``, without
    indices of lists) is always a component. The table's components (``named``) have paths of modules, or patterns of
    tensors' names. Tensors of the base (``former``) get a component too.
    """
    today = {each.name: each for each in tensors}
    by_name = {**{each.name: each for each in former}, **today}
    found = _find_named(by_name, today, named or {})
    rest = {name: name_module(name) for name in by_name if name not in found}
    counts: Counter[str] = Counter()
    for name, path in rest.items():
        for level in levels(path):
            counts[level] += by_name[name].owned
    if doubled := next((row for row in found.values() if row in counts), ""):
        said = f"the component {doubled} has a module's name, but not all its tensors: give the component another name"
        raise NoComponent(doubled, said)
    rows = _choose_rows(counts, asked, MOST_ROWS - len(set(found.values())))
    divided = {row.rpartition(".")[0] for row in rows}
    for name, path in rest.items():
        row = max((level for level in levels(path) if level in rows), key=len, default=OTHERS)
        found[name] = f"{row}.{LOOSE}" if path == row and row in divided else row
    return found


def name_module(name: str) -> str:
    """Return ``bert.encoder.layer.output.dense`` for ``bert.encoder.layer.0.output.dense.weight``."""
    return ".".join(part for part in name.split(".")[:-1] if not part.isdigit()) or LOOSE


def _find_named(
    by_name: Mapping[str, Tensor], today: Collection[str], named: Mapping[str, Collection[str]]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for component, pattern in ((component, each) for component, patterns in named.items() for each in patterns):
        inside = f"{pattern}.*" if _WILD.isdisjoint(pattern) else pattern
        held = [each for each in by_name if each == pattern or fnmatchcase(each, inside)]
        if not any(name in today for name in held):
            raise NoComponent(component, f"{shown(pattern)} matches no module or tensor of the built model")
        for name in held:
            if found.setdefault(name, component) != component:
                both = f"{printable(name)} is also in the component {found[name]}: a tensor has only one component"
                raise NoComponent(component, both)
    return found


def _choose_rows(counts: Mapping[str, int], asked: Collection[str], most: int) -> set[str]:
    """Return modules as components: the outermost, the limited and, up to ``most`` in all, those inside the largest."""
    below: dict[str, list[str]] = {}
    for path in counts:
        below.setdefault(path.rpartition(".")[0], []).append(path)
    outermost = sorted(below.get("", []), key=lambda path: -counts[path])
    limited = {level for path in asked if path in counts for level in levels(path)}
    rows = {*outermost, *limited} if len(outermost) <= most else {*outermost[: most - 1], *limited}
    waiting = {*rows}
    while waiting:
        largest = min(waiting, key=lambda path: (-counts[path], path))
        waiting.remove(largest)
        inner = {*below.get(largest, [])}
        if inner and len(rows | inner) <= most:
            rows |= inner
            waiting |= inner
    return rows


def list_modules(names: Iterable[str]) -> Iterator[str]:
    """Yield all modules that a budget may name."""
    return iter(dict.fromkeys(level for name in names for level in levels(name_module(name))))


def inventory_of(
    built: Built, expected: Inventory | None = None, components: Mapping[str, str] | None = None
) -> Inventory:
    """Return a build's tensors with components: the closed form's or its neighbours', else ``components`` by name."""
    owners: Mapping[str, str | None] = {}
    names = [each.name for each in built.tensors]
    if expected:
        known = {each.name: each.component for each in expected.tensors}
        modules = group_by_module(known.items())
        components = {name: known.get(name) or find_nearest(name, modules, "unexpected") for name in names}
        owners = _list_owners(built.tensors, expected)
    found = find_components(built.tensors) if components is None else components
    tensors = (
        each._replace(component=found[each.name], tied_to=owners.get(each.name, each.tied_to)) for each in built.tensors
    )
    return Inventory(tuple(tensors), expected.list_known if expected else tuple)


def _list_owners(tensors: Iterable[Tensor], expected: Inventory) -> dict[str, str | None]:
    """Map the names of a tensor with several names to its owner by the closed form, the owner itself to ``None``."""
    groups: dict[str, list[str]] = {}
    for tensor in tensors:
        groups.setdefault(tensor.tied_to or tensor.name, []).append(tensor.name)
    found: dict[str, str | None] = {}
    for names in (names for names in groups.values() if len(names) > 1):
        free = [name for name in names if name in expected.by_name and not expected.by_name[name].tied_to]
        if len(free) == 1:
            found |= {name: None if name == free[0] else free[0] for name in names}
    return found
