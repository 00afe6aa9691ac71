"""The effect of each changed key on a model without a closed form: builds of today's code with former values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.builder.messages import Built, NotBuilt, Request
from pytest_bertsize.closed_forms.attribution import Attribution, Counts, Moved, alone_and_together, difference
from pytest_bertsize.findings import Unusable
from pytest_bertsize.review.examine import Subject, clean_config, make_factory_config
from pytest_bertsize.table.model import Model, split_command
from pytest_bertsize.wording import listed, plural, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.inventory import Inventory

CODE = "code"  # the name of the row for changes that no key explains
MOST_KEYS = 15  # the most changed keys for which a model is built again: n keys need n + 1 more builds
MOST_NAMED = 6  # the most keys that a sentence names; it gives the number of the others
NOT_PUT_BACK = ("architecture", "classes", "adapter")  # keys that change the build, and that a request cannot put back
_NOTHING = object()
Path = tuple[str, ...]
Result = Callable[[str], Built | NotBuilt]


class PutBack(NamedTuple):
    """The changed keys of a config, and the builds with old values that measure the effect of each key."""

    result: Result
    problem: str = ""  # the reason why nothing is built with old values
    keys: tuple[tuple[str, str, str], ...] = ()  # each key, its old and its new value, as a report shows them
    requests: tuple[Request, ...] = ()  # with all values old; of several keys, also with each new value alone


def plan_rebuilds(subject: Subject, baseline: Baseline | None, result: Result | None) -> PutBack | None:
    """Plan builds that show the effect of each changed key, for a model whose count at the base only a lock has.

    :param result: returns the result of a build when it is needed; ``None`` if nothing is built.
    """
    former, request = baseline.find_former(subject.model.name) if baseline else None, subject.request
    if not result or not former or not former.locked or former.derivation or not request:
        return None
    make, written = make_factory_config if former.model.factory else clean_config, None
    with suppress(Unusable):
        written = make(former.model, former.config) if former.config else None
    if written is None:
        return PutBack(result, "the keys of its config at the base are not known")
    before, after = _list_values(written, former.model), _list_values(request.config, subject.model)
    paths = sorted(path for path in {**before, **after} if before.get(path, _NOTHING) != after.get(path, _NOTHING))
    names = (".".join(path[1:] if path[0] == "config" else path) for path in paths)
    keys = tuple((name, _show(before, path), _show(after, path)) for name, path in zip(names, paths, strict=True))
    problem, mixtures = "", [before] if paths else []
    if others := [key for key in NOT_PUT_BACK if getattr(former.model, key) != getattr(subject.model, key)]:
        keys += tuple((key, "", "") for key in others)
        problem = f"the table had another {listed(others, len(others))}"
    elif len(keys) > MOST_KEYS:
        problem = f"more than {MOST_KEYS} keys changed, and each needs a build"
    elif keys and request.device != "meta":
        problem = "the model is built on the CPU, so only once"
    for path in paths if len(paths) > 1 else ():
        old = {each: value for each, value in before.items() if each != path}
        mixtures.append({**old, path: after[path]} if path in after else old)
    requests = (_ask_again(request, mixture, number) for number, mixture in enumerate(mixtures))
    return PutBack(result, problem, keys, () if problem else tuple(requests))


def _list_values(config: Mapping[str, Any], model: Model) -> dict[Path, Any]:
    """Return the factory, config, options and kwargs by path: each value inside an object has a path of its own."""
    given = {"config": config, "options": model.options, "kwargs": model.kwargs}
    of_factory = {"factory": model.factory} if model.factory else {}
    return dict(_walk({**of_factory, **given}, ()))


def _walk(value: object, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping) and (value or len(path) == 1):
        for key, inner in value.items():
            yield from _walk(inner, (*path, key))
    else:
        yield path, value


def _show(values: Mapping[Path, Any], path: Path) -> str:
    return shown(values[path]) if path in values else "nothing"


def _ask_again(request: Request, values: Mapping[Path, Any], number: int) -> Request:
    """Return the request with other values, and with ``number`` added to its name."""
    given: dict[str, Any] = {"factory": "", "config": {}, "options": {}, "kwargs": {}}
    for (*outer, key), value in values.items():
        inner = given
        for each in outer:
            inner[each] = dict(inner[each]) if isinstance(inner.get(each), dict) else {}
            inner = inner[each]
        inner[key] = value
    left_out: dict[str, Any] = {"asked": (), "unknown": (), "filed": (), "seq_len": 0}
    left_out["command"] = tuple(split_command(given["factory"]))
    return request._replace(name=f"{request.name}\n{number}", **given, **left_out)


def divide_change(
    put_back: PutBack, before: Counts, now: Inventory, components: Callable[[Built], Inventory]
) -> tuple[Attribution, str]:
    """Measure three effects on the parameters: of each key alone, of the keys together, and of the code.

    :param components: assigns components to the tensors of a build.
    :returns: the rows, and a sentence on effects that are not known.
    """
    names = listed([printable(key) for key, *_ in put_back.keys], MOST_NAMED)
    changed = f"these keys changed: {names}; " if names else ""
    if put_back.problem:
        return Attribution(()), f"{changed}the effects of keys and code are not known: {put_back.problem}"
    counts = []
    for request in put_back.requests:
        built = put_back.result(request.name)
        if isinstance(built, NotBuilt):
            why = f"because the model cannot be built with old values: {built.reason}"
            return Attribution(()), f"{changed}the effect of each is not known, {why}"
        counts.append(components(built).own)
    start, *alone = counts or [now.own]
    rows = alone_and_together(put_back.keys, start, alone or [now.own] * len(put_back.keys), now.own)
    code = difference(start, before)
    method = f"by {plural(len(counts), 'build')} of today's code with old values" if counts else ""
    return Attribution((*rows, *([Moved(CODE, "", "", code)] if code else [])), method), ""
