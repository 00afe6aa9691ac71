"""The what-if page of one model: its closed form as a script, which the page allows by its hash, and sliders."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from string import Formatter
from typing import TYPE_CHECKING, Any, TypeVar

from markupsafe import Markup

from pytest_bertsize.closed_forms.all_sizes import AllSizes, Branch, Counts, Ways, follow_all_sizes, list_ends
from pytest_bertsize.closed_forms.symbols import Base, Floor, Sum
from pytest_bertsize.closed_forms.what_if import Variants
from pytest_bertsize.config import keys as bounds
from pytest_bertsize.config.keys import LABELS
from pytest_bertsize.inventory import TOTAL, TRAINABLE, levels, parents_first
from pytest_bertsize.reports.files import HARMLESS_IN_HTML
from pytest_bertsize.reports.html.page import colour_of, load_templates
from pytest_bertsize.reports.sentences import NOTHING
from pytest_bertsize.table.settings import dotted
from pytest_bertsize.wording import exact, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.config.keys import Rule
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.limits import Limit
    from pytest_bertsize.table.model import Model

FOLDER = "pytest_bertsize.reports.html"
SCRIPTS = ("what_if_counting.js", "what_if.js")  # the script that counts, and the one that shows the counts
T = TypeVar("T")


def render(model: Model, config: ModelConfig, derivation: Derivation) -> str:
    """Return the page of a model; raise Unusable if its closed form cannot be computed for other sizes."""
    found, variants = follow_all_sizes(derivation), Variants(derivation)
    facts = list_facts(found, model, derivation)
    script = "\n".join(["'use strict'", write_constants(found, facts), *map(read_script, SCRIPTS)])
    digest = b64encode(sha256(script.encode()).digest()).decode()
    page = load_templates().get_template("what_if.html.jinja")
    return page.render(
        name=model.name or derivation.form.architecture.name,
        architecture=derivation.form.architecture.name,
        family=derivation.family,
        config=config,
        facts=facts,
        fixed=list(_list_fixed(found, derivation)),
        limited=any(name != TOTAL for name in facts["limits"]),
        uncounted=[f"{each.component} {each}" for each in model.limits if not _is_counted(each)],
        unsure=variants.why_unsure,
        declared=model.name,
        version=version("pytest-bertsize"),
        script=Markup(script),  # noqa: S704  (our own; what it quotes of a config is escaped)
        digest=digest,
    )


def read_script(name: str) -> str:
    """Return the text of the file ``name``, one of :data:`SCRIPTS`."""
    return files(FOLDER).joinpath(name).read_text("utf-8")


def write_constants(found: AllSizes, facts: Mapping[str, Any]) -> str:
    """Write the constants of the script: ``COUNTS`` and ``HOLDS``, which compute with sizes, and the data ``MODEL``."""

    def write_counts(end: Counts | str, names: Mapping[str, str]) -> str:
        if isinstance(end, str):
            return _to_json(end)
        return f"[{', '.join(write_count(end.get(name, ()), names) for name in facts['own'])}]"

    rules = [write_function(each, found.free, lambda holds, _: _to_json(holds)) for each in found.rules.values()]
    counts = write_function(found.counts, found.free, write_counts)
    return f"const COUNTS = {counts}\nconst HOLDS = [{', '.join(rules)}]\nconst MODEL = {_to_json(facts)}"


def list_facts(found: AllSizes, model: Model, derivation: Derivation) -> dict[str, Any]:
    """Return the data that the script needs besides formulas; no number in it exceeds 2⁵³."""
    own = list(dict.fromkeys(name for end in list_ends(found.counts) if not isinstance(end, str) for name in end))
    limits = [each for each in model.limits if _is_counted(each)]
    limited = [each.component for each in limits if each.component != TOTAL]
    rows = parents_first({level: None for name in (*own, *limited) for level in levels(name)})
    tops = [name for name in rows if "." not in name]
    places, keys = {size.key: place for place, size in enumerate(found.free.values())}, derivation.family.keys
    labels = {size.key for size in found.free.values() if size.symbol == LABELS or size.key.endswith(".num_labels")}

    def find_places(pairs: Iterable[tuple[str, str]]) -> list[list[int]]:
        return [[places[one], places[of]] for one, of in pairs if {one, of} <= places.keys()]

    return {
        "sizes": [
            {
                "key": size.key,
                "symbol": size.symbol,
                "start": derivation.form.dims.sizes[size.symbol],
                "least": size.minimum,
                "most": bounds.MOST_LABELS if size.key in labels else bounds.LARGEST_SIZE,
                "deepest": bounds.MOST_LAYERS if size.repeats else None,
                "example": size.minimum if size.default is None else size.default,
            }
            for size in found.free.values()
        ],
        "own": own,
        "rows": [
            {"name": name, "depth": name.count("."), "colour": colour_of(name.partition(".")[0], tops)} for name in rows
        ],
        "limits": {each.component: {"min": each.minimum, "max": each.maximum, "said": str(each)} for each in limits},
        "rules": [_describe_rule(rule, places, derivation) for rule in found.rules],
        "divisible": find_places(keys.divisible),
        "equal": find_places(keys.equal),
        "words": [bounds.NOT_WHOLE, bounds.TOO_SMALL, bounds.TOO_LARGE, bounds.TOO_DEEP],
        "table": dotted(model.table_key) if model.name else "",
    }


def _is_counted(limit: Limit) -> bool:
    """Return whether the page counts the quantity of a limit: parameters, but neither trainable ones nor growth."""
    return limit.measure is None and limit.component != TRAINABLE


def _describe_rule(rule: Rule, places: Mapping[str, int], derivation: Derivation) -> dict[str, Any]:
    """Describe a rule: its keys, its sentences as templates, and a text or the index of a size for each field."""
    part = ""
    said: dict[str, int | str] = {}
    for template in (rule.message, rule.fix):
        for _, name, form, _ in Formatter().parse(template):
            if name is not None:
                key = next((key for key in rule.keys if key == name or key.endswith(f".{name}")), name)
                value: Any = derivation.values.assumed.get(key)  # a fixed one is written as messages do
                fixed = exact(value) if form and isinstance(value, int) else str(value)
                fixed = shown([*value]) if isinstance(value, tuple) else fixed
                said[f"{name}:{form}" if form else name] = places.get(key, fixed)
                if key != name and template == rule.message:
                    part = part or f"{key.removesuffix(f'.{name}')}: "
    return {"keys": rule.keys, "said": said, "words": [f"{part}{rule.message}", rule.fix]}


def _list_fixed(found: AllSizes, derivation: Derivation) -> Iterator[str]:
    """Yield each key that has no slider, with its value and the reason."""
    sizes, keys = derivation.form.dims.sizes, derivation.family.keys
    values = {size.key: sizes.get(size.symbol) for size in keys.sizes} | dict(sizes)
    for key, why in found.fixed.items():
        value = values.get(key)
        yield f"{key} {NOTHING if value is None else exact(value)}: {why}"
    moved = {size.key for size in keys.sizes} | {index.key for index in keys.indices}
    for key, assumed in derivation.values.assumed.items():
        if key in keys.own and key not in moved:
            value = [*assumed] if isinstance(assumed, tuple) else assumed
            yield f"{key} {shown(value)}: another value may change the formula"
    for option, switch in derivation.options.items():
        yield f"{option} {shown(switch)}: an argument of the class: --option {option}={shown(not switch)}"


def _to_json(value: object) -> str:
    """Write JSON for a script in a page; the text cannot end the script or start another element."""
    return json.dumps(value, ensure_ascii=True).translate(HARMLESS_IN_HTML)


# JavaScript: integers of any length, rounded down as in Python. Sizes are named by index, ``x0``, ``x1``, …,
# never by a word from a config.


def write_function(ways: Ways[T], symbols: Iterable[str], write_end: Callable[[T, Mapping[str, str]], str]) -> str:
    """Write a JavaScript function of an array of sizes, in the order of ``symbols``; ``write_end`` writes a result."""
    names = {symbol: f"x{place}" for place, symbol in enumerate(symbols)}

    def write(ways: Ways[T]) -> str:
        if not isinstance(ways, Branch):
            return write_end(ways.value, names)
        asked = f"{write_count(ways.count, names)} {'===' if ways.is_zero else '>'} 0n"
        return f"({asked} ? {write(ways.then)} : {write(ways.otherwise)})"

    return f"([{', '.join(names.values())}]) => ({write(ways)})"


def write_count(count: Sum, names: Mapping[str, str]) -> str:
    """Write a count in JavaScript, as a sum of products of sizes; ``names`` has the names of the sizes by symbol."""

    def write_product(number: int, powers: Iterable[tuple[Base, int]]) -> str:
        factors = [write_factor(base) for base, exponent in powers for _ in range(exponent)]
        return "*".join(factors if factors and number == 1 else [f"{number}n", *factors])

    def write_factor(base: Base) -> str:
        if isinstance(base, str):
            return names[base]
        if isinstance(base, Floor):  # a function of the page
            return f"floor({write_count(base.above, names)}, {write_count(base.below, names)})"
        return f"({write_count(base, names)})"

    return " + ".join(write_product(int(term.number), term.powers) for term in count) or "0n"
