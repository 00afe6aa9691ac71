"""The process that has contributed closed forms: imports their files, answers with families, blocks and rules.

``python -m pytest_bertsize.closed_forms.contributed.child``, which imports neither torch nor transformers itself.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.confined import (
    REFUSED,
    WENT_ON,
    NetworkRefused,
    answer,
    in_words,
    keep_to_oneself,
    leave_no_bytecode,
    limit_memory,
    questions,
    refuse_the_network,
    take_over_descriptors,
    take_over_input,
)
from pytest_bertsize.builder.offline import cut_off
from pytest_bertsize.closed_forms.contributed.hook import HOOK, NoForms, families_in
from pytest_bertsize.closed_forms.contributed.wire import dims_read, family_said, node_said, values_read, ways_said
from pytest_bertsize.closed_forms.family import Deriving
from pytest_bertsize.config.branches import NeedsNumber, every_way
from pytest_bertsize.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_bertsize.closed_forms.family import Family
    from pytest_bertsize.config.dims import Dims
    from pytest_bertsize.config.keys import Rule


def main() -> None:
    keep_to_oneself()
    answers = take_over_descriptors()
    asked = questions(take_over_input())
    first = next(asked)
    cut_off()
    sys.addaudithook(refuse_the_network)
    leave_no_bytecode()
    limit_memory()
    if not sys.flags.isolated:
        sys.path.insert(0, first["root"])
    families: list[Family] = []
    answer(answers, _honest(_contributed(first, families), first))
    for question in asked:
        answer(answers, _honest(_said(question, families, first["root"]), question))
    os._exit(0)


def _honest(said: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """With the question's number; what reached for the network gives no answer, whatever it made of the refusal."""
    if REFUSED and "error" not in said:
        error = f"{REFUSED[0]}, {WENT_ON}"
        said = {"origin": ", ".join(origin for origin, _ in asked.get("places", ())), "error": error}
    return {**said, "number": asked["number"]}


def _contributed(asked: Mapping[str, Any], families: list[Family]) -> dict[str, Any]:
    """Every family with who contributes it, or the first mistake and whose it is."""
    said: list[list[Any]] = []
    for origin, place in asked["places"]:
        try:
            hook = _module(place) if place.endswith(".py") else _installed(place)
            for family in families_in(hook()):
                said.append([origin, family_said(family, Release(*asked["release"]))])
                families.append(family)
        except (NoForms, NetworkRefused) as error:
            return {"origin": origin, "error": str(error)}
        except BaseException as error:  # noqa: BLE001  (whatever foreign code raises)
            return {"origin": origin, "error": f"it raised {in_words(error, asked['root'])}"}
    return {"families": said}


def _module(path: str) -> Callable[[], object]:
    """The function of a file, which is imported by its path alone."""
    spec = importlib.util.spec_from_file_location(f"bertsize_{Path(path).stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return _hook(module)


def _installed(place: str) -> Callable[[], object]:
    """The function that an entry point names, ``package.module:function``, or the module's own."""
    name, _, attribute = place.partition(":")
    return _hook(importlib.import_module(name), attribute or HOOK)


def _hook(module: object, name: str = HOOK) -> Callable[[], object]:
    found: Callable[[], object] | None = getattr(module, name, None)
    if not callable(found):
        raise NoForms(f"it has no function {name}; write def {name}(): return [FAMILY]")
    return found


def _said(asked: Mapping[str, Any], families: list[Family], root: str) -> dict[str, Any]:
    try:
        return {"answer": _called(families[asked["family"]], *asked["call"])}
    except BaseException as error:  # noqa: BLE001  (whatever foreign code raises)
        return {"error": in_words(error, root)}


def _called(family: Family, what: str, *given: Any, free: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """A function of a family, by its place.

    :param free: sizes that may have any value, where every way is asked for that it can go.
    """
    match what, *given:
        case "ways", names, *call:
            return _every_way(family, names, call)
        case "blocks", at, dims:
            return node_said(family.architectures[at].blocks(_mixed(dims_read(dims), free)))
        case "rule", None, number, values:
            return _holds(family.keys.rules[number], {**values, **free})
        case "rule", at, number, values:
            return _holds(family.architectures[at].rules[number], {**values, **free})
        case "cost", key, value, dims:
            cost = family.keys.all_ignored[key].cost
            assert cost
            return cost(tuple(value) if isinstance(value, list) else value, dims_read(dims))
        case "derive", written if isinstance(family, Deriving):
            return dict(family.derive(values_read(written)))
    raise LookupError(what)


def _every_way(family: Family, names: Sequence[str], call: Sequence[Any]) -> Any:
    try:
        return ways_said(every_way(lambda sizes: _called(family, *call, free=sizes), names))
    except NeedsNumber as needs:
        return {"needs": sorted(needs.symbols)}


def _mixed(dims: Dims, free: Mapping[str, Any]) -> Dims:
    sizes = {**dims.sizes, **free}
    return replace(dims, sizes=sizes, numbers=sizes) if free else dims


def _holds(rule: Rule, values: Mapping[str, Any]) -> bool:
    return bool(rule.holds(values_read(values)))


if __name__ == "__main__":
    main()
