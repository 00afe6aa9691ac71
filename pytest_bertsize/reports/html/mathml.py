"""A formula as text → MathML, for pages: ``L·(4·D² + 9·D)`` with italic symbols, raised powers and floor brackets."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_TOKEN = re.compile(
    r"(?P<number>[0-9]+)|(?P<power>[⁰¹²³⁴⁵⁶⁷⁸⁹]+)|(?P<symbol>[^\W\d⁰¹²³⁴⁵⁶⁷⁸⁹][^\W⁰¹²³⁴⁵⁶⁷⁸⁹]*)"
    r"|(?P<sign>[-+·/(),])|(?P<space> +)"
)
_POWER = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SUBSCRIPT = re.compile(r"([^\W\d_])(?:_(\w+)|([a-z0-9]{1,2}))")
"""``d_kv``, ``De``, ``P2``."""
_BRACKETS = {"floor": ("⌊", "⌋"), "ceiling": ("⌈", "⌉")}
_MINUS = "\N{MINUS SIGN}"
_TIMES = "\u2062"
"""The invisible times, which a screen reader speaks."""


def typeset(formula: str) -> Markup:
    """A formula in MathML, one element for each summand, so that a long one can wrap; text that is none, as text."""
    tokens = _tokens(formula)
    return escape(formula) if tokens is None else _Writer(tokens).written()


def _tokens(formula: str) -> list[tuple[str, str]] | None:
    """The tokens with their kind, without spaces; ``None`` for what is no formula of ours."""
    tokens: list[tuple[str, str]] = []
    at = depth = 0
    while at < len(formula):
        match = _TOKEN.match(formula, at)
        raised = tokens and (tokens[-1][0] in {"number", "symbol"} or tokens[-1][1] == ")")
        if match is None or match.lastgroup is None or (match.lastgroup == "power" and not raised):
            return None
        tokens.append((match.lastgroup, match[0]))
        at = match.end()
        depth += (match[0] == "(") - (match[0] == ")")
        if depth < 0:
            return None
    tokens = [token for token in tokens if token[0] != "space"]
    return tokens if tokens and depth == 0 else None


class _Writer:
    """One formula, token after token."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._closing: list[str] = []
        """What ends each open bracket."""
        self._parts: list[list[str]] = [[]]
        """Summands; those within a floor stay together."""

    def written(self) -> Markup:
        for index in range(len(self._tokens)):
            self._write(index)
        return Markup("<wbr>").join(Markup(f"<math>{''.join(part)}</math>") for part in self._parts)  # noqa: S704

    def _write(self, index: int) -> None:
        kind, text = self._tokens[index]
        if kind == "power":
            base = self._parts[-1].pop()
            self._parts[-1].append(f"<msup>{base}<mn>{text.translate(_POWER)}</mn></msup>")
        elif kind == "number":
            self._parts[-1].append(f"<mn>{text}</mn>")
        elif kind == "symbol":
            if text not in _BRACKETS or self._text(index + 1) != "(":
                self._parts[-1].append(_symbol(text))
        else:
            self._sign(text, index)

    def _sign(self, text: str, index: int) -> None:
        if text == "(":
            opening, closing = _BRACKETS.get(self._text(index - 1), ("(", ")"))
            self._closing.append(closing)
            self._operator(opening)
        elif text == ")":
            self._operator(self._closing.pop())
        elif text == "·":
            # two numbers side by side would read as one
            self._operator("·" if self._tokens[min(index + 1, len(self._tokens) - 1)][0] == "number" else _TIMES)
        elif text in {"+", "-"}:
            self._plus_or_minus(text, prefix=self._text(index - 1) in {"", "(", ",", "·", "/"})
        else:
            self._operator(text)

    def _plus_or_minus(self, text: str, *, prefix: bool) -> None:
        if not prefix and all(closing == ")" for closing in self._closing):
            self._parts.append([])
        self._operator(_MINUS if text == "-" else text, ' form="prefix"' if prefix else ' form="infix"')

    def _operator(self, text: str, attributes: str = "") -> None:
        self._parts[-1].append(f"<mo{attributes}>{text}</mo>")

    def _text(self, index: int) -> str:
        return self._tokens[index][1] if 0 <= index < len(self._tokens) else ""


def _symbol(name: str) -> str:
    parts = _SUBSCRIPT.fullmatch(name)
    if parts is None:
        return f"<mi>{escape(name)}</mi>"
    below = parts[2] or parts[3]
    kind = "mn" if below.isdecimal() else "mi"
    return f"<msub><mi>{escape(parts[1])}</mi><{kind}>{escape(below)}</{kind}></msub>"
