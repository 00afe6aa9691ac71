"""Calculate formulas as a reader does, in each of the ways in which they are written."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms import ClosedForm

BRACES = r"\{((?:[^{}]|\{[^{}]*\})*)\}"


def assert_formulas_count(form: ClosedForm) -> None:
    """Each formula of a model comes to what its component counts, as text and as LaTeX."""
    sizes = form.dims.sizes
    for component, formula in form.formulas().items():
        assert value_of(formula.text, sizes) == value_of_latex(formula.latex, sizes) == form[component], formula


def value_of(formula: str, sizes: Mapping[str, int | None]) -> int:
    """Return the value of a formula in Python, or with raised exponents and dots."""
    python = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda exponent: f"**{unicodedata.normalize('NFKC', exponent[0])}", formula)
    numbers = re.sub(r"(?<![\w*])(\d+)", r"Fraction(\1)", python.replace("·", "*"))
    exact = {name: Fraction(size) for name, size in sizes.items() if size is not None}
    value = Fraction(eval(numbers, {"__builtins__": {}, "Fraction": Fraction, "floor": math.floor, **exact}))  # noqa: S307
    assert value.denominator == 1
    return int(value)


def value_of_latex(latex: str, sizes: Mapping[str, int | None]) -> int:
    python = re.sub(r"\^\{(\d+)\}", r"**\1", latex)
    python = re.sub(r"\\mathrm\{([^{}]*)\}", lambda name: name[1].replace(r"\_", "_"), python)
    joined = {name.replace("_", "", 1): name for name in sizes}  # De and V_q are both written as with a subscript
    python = re.sub(r"([A-Za-z])_\{(\w+)\}", lambda name: joined[name[1] + name[2]], python)
    python = python.replace(r"\left\lfloor{", "floor{").replace(r"}\right\rfloor", "}").replace(r"\cdot", "*")
    while r"\frac" in python:
        python = re.sub(rf"\\frac{BRACES}{BRACES}", r"((\1)/(\2))", python)
    return value_of(python.replace("{", "(").replace("}", ")"), sizes)
