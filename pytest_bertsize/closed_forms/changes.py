"""Changes of a model, tensor by tensor: frozen, removed and tied modules.

A table names modules by paths: ``"bert.encoder.layer[:6]"``. A change is decided for each tensor by its full name;
neighbouring layers with the same result stay one term, so that there is still a formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import STAR, Copies, Term
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.folding import group_indices
from pytest_bertsize.inventory import TOTAL, is_within, levels
from pytest_bertsize.wording import did_you_mean, plural, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.folding import Indices

_PATH = re.compile(r"[\w-]+(?:\.[\w-]+|\[(?:-?\d{1,9}|(?:-?\d{1,9})?:(?:-?\d{1,9})?)\])*", re.ASCII)
_PART = re.compile(r"[^.\[]+|\[[^\]]*\]")
MOST_SHOWN = 6

# tensor by tensor


def name_tensors(terms: Iterable[Term]) -> Iterator[tuple[str, Term]]:
    """Yield the full name of every tensor, with its term."""
    for term in terms:
        for place in product(*(each.indices() for each in term.copies)):
            yield term.name_at(place), term


def find_owners(terms: Iterable[Term]) -> dict[str, str]:
    """Return the full name of every tensor's owner: the tensor whose storage it shares, else the tensor itself."""
    return {name: term.owner_of(name) or name for name, term in name_tensors(terms)}


def change_tensors(
    terms: Iterable[Term], change: Callable[[str, Term], Iterable[Term]], places: Mapping[str, int] | None = None
) -> list[Term]:
    """Change every tensor of a model; neighbouring layers with equal results become one term.

    If the layers of a list now differ, their number in a term is an integer, not a symbol.

    :param change: returns the terms that replace a tensor, from its full name and its term; an empty result removes it.
    :param places: the new index of each module in a list that has lost a module, by the module's old path.
    """
    found: list[tuple[list[str], Term]] = []
    split: set[str] = set()
    for term in terms:
        every = [each.indices() for each in term.copies]
        if not all(every):
            found.append((term.lists, term))  # it has no copy now, but a formula shows it
        alike: list[tuple[Term, list[Indices]]] = []
        for place in product(*every):
            name = term.name_at(place)
            for new in change(name, term):
                moved, index = _renumber_term(new, place, name, places) if places else (new, place)
                # an integer and a symbol are never alike, even with equal values
                kinds = [*map(type, moved.shape)]
                for known, group in reversed(alike):
                    if [*map(type, known.shape)] == kinds and known == moved:
                        group.append(index)
                        break
                else:
                    alike.append((moved, [index]))
        for new, group in alike:
            for box in group_indices(group):
                copies = tuple(each.only(run) for each, run in zip(new.copies, box, strict=True))
                split |= {name for name, run, all_of_it in zip(term.lists, box, every, strict=True) if run != all_of_it}
                found.append((term.lists, new._replace(copies=copies)))

    def fix_number(name: str, copies: Copies) -> Copies:
        return copies._replace(times=int(copies.times)) if name in split else copies

    return [term._replace(copies=tuple(map(fix_number, lists, term.copies))) for lists, term in found]


def _renumber_term(term: Term, place: Indices, name: str, places: Mapping[str, int]) -> tuple[Term, Indices]:
    """Return a tensor's term, and its index in each list, after the lists are renumbered."""
    parts = [*zip(term.name.split("."), _renumber_parts(name, places), strict=True)]
    indices = [now for part, now in parts if part == STAR]
    index = (old if copies.keys else int(now) for copies, old, now in zip(term.copies, place, indices, strict=True))
    return term._replace(name=".".join(part if part == STAR else now for part, now in parts)), tuple(index)


def _renumber_parts(name: str, places: Mapping[str, int]) -> list[str]:
    parts = name.split(".")
    return [str(places.get(".".join(parts[: at + 1]), part)) for at, part in enumerate(parts)]


def tie_to_owners(terms: Iterable[Term], owners: Mapping[str, str]) -> list[Term]:
    """Tie every tensor to its owner; ``owners`` has the full names of both."""

    def tie_tensor(name: str, term: Term) -> Iterator[Term]:
        own = dict(enumerate(zip(term.name.split("."), name.split("."), strict=True)))
        source = (STAR if own.get(at) == (STAR, part) else part for at, part in enumerate(owners[name].split(".")))
        yield term._replace(tied_to=None if owners[name] == name else ".".join(source))

    return change_tensors(terms, tie_tensor)


def put_below(path: str, terms: Iterable[Term]) -> list[Term]:
    """Return a model's terms with ``path`` before each name, as in a model that contains this one at that path."""
    inside = f"{path}." if path else ""
    return [
        each._replace(name=f"{inside}{each.name}", tied_to=each.tied_to and f"{inside}{each.tied_to}") for each in terms
    ]


# as a table writes it


def freeze_modules(terms: Sequence[Term], modules: Sequence[str]) -> list[Term]:
    """Freeze modules (``"bert.encoder.layer[:6]"``), and the tensors that are tied to them."""
    owners = find_owners(terms)
    paths = {path for module in modules for path in find_modules("frozen", module, owners)}
    frozen = {owner for name, owner in owners.items() if is_under(name, paths)}
    return change_tensors(
        terms, lambda name, term: [term._replace(trainable=False) if owners[name] in frozen else term]
    )


def remove_modules(terms: Sequence[Term], parts: Sequence[str]) -> Sequence[Term]:
    """Remove modules (``"bert.encoder.layer[6:]"``), tensors, or components (``"embeddings.position"``).

    The rest of a list is renumbered, as in ``torch.nn.ModuleList``. If the owner of tied tensors is gone, the first of
    these tensors becomes the owner.
    """
    if not parts:
        return terms
    components = {name: term.component for name, term in name_tensors(terms)}
    paths: set[str] = set()
    for part in parts:
        inside = [name for name, component in components.items() if is_within(component, part) and part != TOTAL]
        paths |= {*(inside or find_modules("without", part, components))}
    owners = {name: owner for name, owner in find_owners(terms).items() if not is_under(name, paths)}
    if not owners:
        raise _make_refusal("without", "nothing is left of the backbone")
    heirs: dict[str, str] = {}
    for name in sorted(owners, key=lambda name: owners[name] != name):  # an owner that stays, else the first
        heirs.setdefault(owners[name], name)
    places: dict[str, int] = {}  # the new index of each module that stays in a list that loses modules, by its path
    for path in {path.rpartition(".")[0] for path in paths if path.rpartition(".")[2].isdigit()}:
        stay = [index for index in _indices_in(path, components) if f"{path}.{index}" not in paths]
        places |= {f"{path}.{index}": place for place, index in enumerate(stay)}
    left = change_tensors(terms, lambda name, term: [term] if name in owners else [], places)
    now = {name: ".".join(_renumber_parts(name, places)) for name in owners}
    return tie_to_owners(left, {now[name]: now[heirs[owner]] for name, owner in owners.items()})


def tie_modules(terms: Sequence[Term], tied: Mapping[str, str]) -> Sequence[Term]:
    """Tie modules or tensors, each to the owner of its storage, tensor by tensor."""
    if not tied:
        return terms
    shapes = {name: term.shape for name, term in name_tensors(terms)}
    owners = find_owners(terms)
    for shared, source in tied.items():
        both = {path: find_modules("tied", path, shapes) for path in (shared, source)}
        if several := next((path for path, modules in both.items() if len(modules) != 1), None):
            raise _make_refusal("tied", f"{printable(several)} names {len(both[several])} modules; name one")
        one, other = both[shared][0], both[source][0]
        for name in [name for name in shapes if is_under(name, (one,))]:
            twin = other + name.removeprefix(one)
            if twin not in shapes:
                message = f"{printable(one)} has {printable(name)}, but the model has no {printable(twin)}"
                raise _make_refusal("tied", message)
            shape, of_twin = (tuple(map(int, shapes[each])) for each in (name, twin))
            if shape != of_twin:
                sizes = f"{printable(name)} is {shape} and {printable(twin)} {of_twin}"
                raise _make_refusal("tied", f"{sizes}: they cannot be tied")
            former, owner = owners[name], owners[twin]
            owners |= {each: owner for each, of in owners.items() if of == former}
    return tie_to_owners(terms, owners)


# paths


def _make_refusal(key: str, message: str) -> Unusable:
    """Return the error for a mistake in a key of the table, such as a module that the model does not have."""
    return Unusable(Finding("config-invalid", f"{key}: {message}", f"correct {shown(key)}", table_key=(key,)))


def is_under(name: str, paths: Collection[str]) -> bool:
    """Return whether ``paths`` has the tensor's full name or the path of a module around it."""
    parts = name.split(".")
    return any(".".join(parts[:depth]) in paths for depth in range(1, len(parts) + 1))


def find_modules(key: str, written: str, names: Collection[str]) -> list[str]:
    """Return the modules that a path in the table's ``key`` means: ``layer[:2]`` → ``layer.0``, ``layer.1``."""
    if not _PATH.fullmatch(written):
        raise _make_refusal(key, f'{shown(written)} is not a path; write one, as in "bert.encoder.layer[:6]"')
    known = dict.fromkeys(level for name in names for level in levels(name))
    found = [""]
    for part in _PART.findall(written):
        if part.startswith("["):
            found = [f"{path}.{index}" for path in found for index in _choose_indices(key, part, path, names, written)]
            continue
        outer = found[0]
        found = [f"{path}.{part}".removeprefix(".") for path in found]
        if known.keys().isdisjoint(found):
            inside = [path for path in known if path.rpartition(".")[0] == outer]
            instead = did_you_mean(found[0], known, f"it has {printable(', '.join(inside[:MOST_SHOWN]))}", shown)
            raise _make_refusal(key, f"the model has no {printable(found[0])}; {instead}")
    return found


def _choose_indices(key: str, part: str, path: str, names: Collection[str], written: str) -> list[int]:
    """Return the indices that ``[:6]`` or ``[0]`` selects from a list."""
    there = _indices_in(path, names)
    first, colon, last = part[1:-1].partition(":")
    start, stop = (int(each) if each else None for each in (first, last))
    taken = there[start:stop] if colon else there[start : (start or 0) + 1 or None]
    if not taken:
        has = plural(len(there), "layer")
        raise _make_refusal(key, f"{shown(written)} names no layer: {printable(path)} has {has}")
    return taken


def _indices_in(path: str, names: Collection[str]) -> list[int]:
    """Return the indices of the list at a path."""
    heads = {name.removeprefix(f"{path}.").split(".")[0] for name in names if name.startswith(f"{path}.")}
    return sorted(int(head) for head in heads if head.isdecimal())
