"""Changes of a model, tensor by tensor: frozen, removed and tied modules.

A table names modules by paths: ``"bert.encoder.layer[:6]"``. A change is decided for each tensor by its full name;
neighbouring layers with the same result stay one term, so that there is still a formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import STAR, Term
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.folding import group_indices
from pytest_bertsize.inventory import is_within, levels
from pytest_bertsize.wording import nearest_to, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.folding import Indices

_SLICE = re.compile(r"\[(-?\d{1,9})?(:)?(-?\d{1,9})?\]", re.ASCII)
_PATH = re.compile(r"[\w-]+(?:\.[\w-]+|\[[^\[\]]*\])*")
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
    terms: Iterable[Term],
    change: Callable[[str, Term], Iterable[Term]],
    places: Mapping[str, int] | None = None,
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
                same = (
                    group for known, group in reversed(alike) if [*map(type, known.shape)] == kinds and known == moved
                )
                group = next(same, None)
                if group is None:
                    group = []
                    alike.append((moved, group))
                group.append(index)
        for new, group in alike:
            for box in group_indices(group):
                copies = tuple(each.only(run) for each, run in zip(new.copies, box, strict=True))
                split.update(
                    name for name, all_of_it, run in zip(term.lists, every, box, strict=True) if run != all_of_it
                )
                found.append((term.lists, new._replace(copies=copies)))
    for at, (lists, term) in enumerate(found):
        both = zip(term.copies, lists, strict=True)
        copies = tuple(each._replace(times=int(each.times)) if name in split else each for each, name in both)
        found[at] = lists, term._replace(copies=copies)
    return [term for _, term in found]


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
    """Freeze some modules, and the tensors that are tied to them.

    :param modules: ``"bert.embeddings"``, a slice of layers ``"bert.encoder.layer[:6]"``, or a tensor's full name.
    :raises Unusable: for a path that names no module.
    """
    owners = find_owners(terms)
    paths = {path for module in modules for path in find_modules("frozen", module, owners)}
    frozen = {owner for name, owner in owners.items() if is_under(name, paths)}
    return change_tensors(
        terms, lambda name, term: [term._replace(trainable=False) if owners[name] in frozen else term]
    )


def remove_modules(terms: Sequence[Term], parts: Sequence[str]) -> Sequence[Term]:
    """Remove modules.

    The rest of a list is renumbered, as in ``torch.nn.ModuleList``. If the owner of tied tensors is gone, the first of
    these tensors becomes the owner.

    :param parts: ``"bert.pooler"``, a slice of layers ``"bert.encoder.layer[6:]"``, a tensor's full name, or a
        component: ``"embeddings.position"``.
    :raises Unusable: for a part that the model does not have.
    """
    if not parts:
        return terms
    components = {name: term.component for name, term in name_tensors(terms)}
    paths = {path for part in parts for path in _find_part(part, components)}
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


def _find_part(part: str, components: Mapping[str, str]) -> list[str]:
    try:
        return list(find_modules("without", part, components))
    except Unusable:
        levels_of_all = {level for component in components.values() for level in levels(component)}
        if part in levels_of_all:
            return [name for name, component in components.items() if is_within(component, part)]
        if meant := nearest_to(part, levels_of_all, cutoff=0.8):
            raise _make_refusal(
                "without", f"the model has no {printable(part)}; did you mean {shown(meant)}?"
            ) from None
        raise


def tie_modules(terms: Sequence[Term], tied: Mapping[str, str]) -> Sequence[Term]:
    """Tie one module to another, tensor by tensor.

    :param tied: modules or tensors, each with the owner of its storage.
    :raises Unusable: for a module that the model does not have, and for shapes that differ.
    """
    if not tied:
        return terms
    shapes = {name: term.shape for name, term in name_tensors(terms)}
    owners = find_owners(terms)
    for shared, source in tied.items():
        found = [(path, list(find_modules("tied", path, shapes))) for path in (shared, source)]
        if several := next(((path, modules) for path, modules in found if len(modules) != 1), None):
            raise _make_refusal("tied", f"{printable(several[0])} names {len(several[1])} modules; name one")
        (one,), (other,) = (modules for _, modules in found)
        for name in [name for name in shapes if is_under(name, (one,))]:
            twin = other + name.removeprefix(one)
            if twin not in shapes:
                raise _make_refusal(
                    "tied", f"{printable(one)} has {printable(name)}, but the model has no {printable(twin)}"
                )
            if shapes[twin] != shapes[name]:
                shape, of_twin = (tuple(map(int, shapes[each])) for each in (name, twin))
                if shape != of_twin:
                    both = f"{printable(name)} is {shape} and {printable(twin)} {of_twin}"
                    raise _make_refusal("tied", f"{both}: they cannot be tied")
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


def find_modules(key: str, written: str, names: Collection[str]) -> Iterator[str]:
    """Yield the modules that a path means: ``layer[:2]`` → ``layer.0``, ``layer.1``.

    :param key: the key of the table with the path.
    :param names: the names of the model's tensors.
    :raises Unusable: for a path that names no module.
    """
    if not _PATH.fullmatch(written):
        meant = re.sub(r"\.\*(?=\.)", "[:]", written.removesuffix(".*"))
        fix = shown(meant) if _PATH.fullmatch(meant) else 'one, as in "bert.encoder.layer[:6]"'
        raise _make_refusal(key, f"{shown(written)} is not a path; write {fix}")
    found = [""]
    for part in _PART.finditer(written):
        if part[0].startswith("["):
            found = [
                f"{path}.{index}" for path in found for index in _choose_indices(key, part[0], path, names, written)
            ]
        else:
            found = [f"{path}.{part[0]}".removeprefix(".") for path in found]
            if not any(f"{name}.".startswith(f"{path}.") for name in names for path in found):
                raise _make_refusal(
                    key, f"the model has no {printable(found[0])}; {_suggest_path(found[0], part, names)}"
                )
    yield from found


def _suggest_path(path: str, part: re.Match[str], names: Collection[str]) -> str:
    """Return the fix for a path in which ``part`` does not exist; it names only modules of the model."""
    end = part.string[part.end() :]
    outer = path.removesuffix(part[0])
    there = list(dict.fromkeys(name.removeprefix(outer).split(".")[0] for name in names if name.startswith(outer)))
    split = (name.split(".") for name in names)
    elsewhere = (".".join(parts[: parts.index(part[0]) + 1]) for parts in split if part[0] in parts)
    nearest = nearest_to(part[0], there)
    if meant := f"{outer}{nearest}" if nearest else next(elsewhere, ""):  # else a module without its parents
        pieces = re.split(r"(\[[^]]*\])", f"{meant}{end}")
        whole = "".join(r"\.\d+" if each.startswith("[") else re.escape(each) for each in pieces)
        is_whole = any(re.match(rf"{whole}(\.|$)", name) for name in names)
        return f"did you mean {shown(f'{meant}{end}' if is_whole else meant)}?"
    return f"it has {printable(', '.join(f'{outer}{each}' for each in there[:MOST_SHOWN]))}"


def _choose_indices(key: str, part: str, path: str, names: Collection[str], written: str) -> list[int]:
    """Return the indices that ``[:6]`` or ``[0]`` selects from a list."""
    matched = _SLICE.fullmatch(part)
    if matched is None or not any(matched.groups()):
        raise _make_refusal(
            key, f"{shown(part)} in {shown(written)} is not a slice; write [:6], [6:], [2:4], [0] or [-2:]"
        )
    there = _indices_in(path, names)
    if not there:
        raise _make_refusal(key, f"{printable(path)} in {shown(written)} is not a list of layers; remove {part}")
    first, colon, last = matched.groups()
    if colon:
        taken = there[int(first) if first else None : int(last) if last else None]
    else:
        at = int(first)
        taken = there[at : at + 1 or None]
    if not taken:
        has = f"the layers {there[0]} to {there[-1]}" if there[1:] else f"only layer {there[0]}"
        raise _make_refusal(key, f"{shown(written)} names no layer: {printable(path)} has {has}")
    return taken


def _indices_in(path: str, names: Collection[str]) -> list[int]:
    """Return the indices of the list at a path."""
    heads = {name.removeprefix(f"{path}.").split(".")[0] for name in names if name.startswith(f"{path}.")}
    return sorted(int(head) for head in heads if head.isdecimal())
