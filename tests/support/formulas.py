"""What a reader with a calculator gets from a formula, in each of the ways in which it is written."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms import ClosedForm

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_BRACES = re.compile(r"\{((?:[^{}]|\{[^{}]*\})*)\}")


def assert_formulas_count(form: ClosedForm) -> None:
    """Each formula of a model comes to what its component counts, as text and as LaTeX."""
    sizes = form.dims.sizes
    for component, formula in form.formulas().items():
        assert value_of(formula.text, sizes) == value_of_latex(formula.latex, sizes) == form[component], formula


def value_of(formula: str, sizes: Mapping[str, int | None]) -> int:
    powers = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda exponent: f"**{exponent[0].translate(_SUPERSCRIPTS)}", formula)
    return _value(powers.replace("·", "*"), sizes)


def value_of_latex(latex: str, sizes: Mapping[str, int | None]) -> int:
    python = re.sub(r"\^\{(\d+)\}", r"**\1", latex)
    python = re.sub(r"\\mathrm\{([^{}]*)\}", lambda name: name[1].replace(r"\_", "_"), python)
    python = re.sub(r"([A-Za-z])_\{(\w+)\}", r"\1_\2", python)
    python = python.replace(r"\left\lfloor{", "floor{").replace(r"}\right\rfloor", "}").replace(r"\cdot", "*")
    while r"\frac" in python:
        python = re.sub(rf"\\frac{_BRACES.pattern}{_BRACES.pattern}", r"((\1)/(\2))", python)
    return _value(python.replace("{", "(").replace("}", ")"), _with_subscripts(sizes))


def _with_subscripts(sizes: Mapping[str, int | None]) -> dict[str, int | None]:
    """``De`` stands as a D with a subscript."""
    return {**sizes, **{f"{name[0]}_{name[1:]}": size for name, size in sizes.items() if name[1:]}}


def _value(python: str, sizes: Mapping[str, int | None]) -> int:
    exact = {name: Fraction(size) for name, size in sizes.items() if size is not None}
    numbers = re.sub(r"(?<![\w*])(\d+)", r"Fraction(\1)", python)
    names = {"__builtins__": {}, "Fraction": Fraction, "floor": math.floor, **exact}
    value = Fraction(eval(numbers, names))  # noqa: S307
    assert value.denominator == 1
    return int(value)
