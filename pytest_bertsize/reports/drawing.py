"""Text for a terminal: within its width, in colour if it has colours, and in ASCII if it can show nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

NARROWEST = 60  # the fewest columns for which lines are drawn; a narrower terminal wraps them
# Replacements in ASCII: each is one cell wide, like its original, so that columns stay aligned.
_ASCII = str.maketrans("✗✓×·─█▶→≥…▏▎▍▌▋▊▉", "x+x*-#>>>~    ###")
# Codes of ECMA-48 (Select Graphic Rendition).
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold red": "1;31"}


class Style(NamedTuple):
    """A terminal's abilities, and the requested verbosity."""

    width: int = 80
    colour: bool = False
    unicode: bool = True
    verbosity: int = 0


def can_show(encoding: str | None) -> bool:
    """Return whether an encoding has the special characters of reports, to judge by six of them."""
    try:
        "✗·²─█▶".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def usable(style: Style) -> int:
    return max(style.width, NARROWEST) - 1


def to_terminal(text: str, style: Style) -> str:
    """Replace the characters that the terminal cannot encode; every line keeps its width."""
    return text if style.unicode else text.translate(_ASCII)


def powers(text: str, style: Style) -> str:
    """Write ``²`` as ``^2`` for a terminal of ASCII. Call this before the layout, because ``^2`` is one cell wider."""
    return text if style.unicode else text.replace("²", "^2").replace("³", "^3")


def paint(text: str, colour: str, style: Style) -> str:
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if style.colour and colour and text.strip() else text


# sentences


def draw_marked(mark: str, text: str, style: Style, colour: str = "") -> str:
    """Draw a sentence after its mark, which has the ``colour``; indent further lines, do not break text to paste."""
    kept = _PASTED.sub(lambda found: found[0].replace(" ", _KEPT), powers(text, style))
    lines = [line for part in kept.split("\n") for line in _wrap(part, usable(style) - cell_len(mark))]
    drawn = (paint(line.rstrip().replace(_KEPT, " "), "" if mark else colour, style) for line in lines)
    return to_terminal(paint(mark, colour, style) + f"\n{' ' * cell_len(mark)}".join(drawn), style)


def draw_title(name: str, details: str, style: Style) -> str:
    """Draw a name in bold, and its details behind it."""
    first, *rest = _wrap(f"{name}  {details}", usable(style))
    lines = (paint(line.rstrip(), "dim", style) for line in (first[len(name) :], *rest))
    return to_terminal(paint(name, "bold", style) + "\n".join(lines), style)


def draw_cut(text: str, style: Style) -> str:
    """Draw a text on one line, cut at its end if it is too long."""
    room = usable(style)
    return to_terminal(text if cell_len(text) <= room else f"{chop_cells(text, room - 1)[0]}…", style)


def _wrap(text: str, room: int) -> list[str]:
    """Break a text between words into lines of at most ``room`` cells; break longer words too, but no text to paste."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(longer) <= room or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
        while cell_len(lines[-1]) > room and _KEPT not in lines[-1]:
            lines += chop_cells(lines.pop(), room)
    return lines


_KEPT = "\ue000"  # a placeholder for a space at which no line is broken
_VALUE = r"""(?:"[^"]*"|\[[^][{}]*\]|\{(?:[^{}]|\{[^{}]*\})*\}|-?[\d_.]+|true|false)"""
_ARGUMENT = r"""(?: --?[\w-]+(?:[= ](?:"[^"]*"|'[^']*'|[^\s;,()"]+))?)"""
# The pattern of text that a user pastes (TOML, JSON or a shell command), which must not wrap.
_PASTED = re.compile(
    r"\{ name = .*? \}(?=, \{ name = | ?\]|$)"  # a row of extra
    rf'|(?:[\w.]*"[^"]*"|[\w.]+) = {_VALUE}|"[^"]*": {_VALUE}'  # a key of TOML, and of JSON
    r"|\{(?:[^{}]|\{[^{}]*\})*\}|\[[\w., \"-]+\]"  # a table, a list
    r"|\b(?:hf download|git lfs|pip install)(?: (?!(?:and|or|if|to|in|where)\b)[^\s;,()]+)+"
    rf"|\b(?:bertsize|git|pytest)(?: (?:[\w./:-]+|'[^']*')){{0,3}}?{_ARGUMENT}+"
    r"|\bbertsize init (?:[\w.]+:[\w.]+|'[^']*')"
)


# tables: numbers are never cut; whole columns are dropped, the least important first


FEWEST_WRAPPED = 16  # the fewest cells of a column that wraps, unless its texts are shorter


class Line(NamedTuple):
    """One line of a table: the text of each column, and the colours of some."""

    cells: Mapping[str, str]
    colours: Mapping[str, str] = {}


def draw_table(  # noqa: PLR0913
    lines: Iterable[Line],
    words: Collection[str],
    style: Style,
    *,
    names: Mapping[str, int] = {},
    wrapped: Mapping[str, int] = {},
    dropped_first: Iterable[str] = (),
    apart: Collection[int] = (),
    gap: int = 2,
    is_ruled: bool = True,
) -> str:
    """Draw the columns that are not empty.

    :param words: the columns aligned to the left.
    :param names: a column that may be shortened, with the width to which it is before columns are dropped.
    :param wrapped: a column whose texts may wrap, with the width to which they do before columns are dropped.
    :param apart: the indices of lines with an empty line above.
    """
    lines = [*lines]
    used = [column for column in lines[0].cells if any(line.cells[column] for line in lines)]
    lines.insert(0, Line({column: column for column in used}, dict.fromkeys(used, "bold")))
    widths = {column: max(cell_len(line.cells[column]) for line in lines) for column in used}
    least = {column: min(width, {**names, **wrapped}.get(column, width)) for column, width in widths.items()}
    room = usable(style) + gap - sum(width + gap for width in least.values())
    for dropped in dropped_first:
        if dropped in least and room < 0:
            room += least.pop(dropped) + gap
    for column in (*names, *wrapped):
        more = min(widths[column] - least[column], max(room, 0))
        least[column], room = least[column] + more, room - more
    for column, fewest in (*((each, FEWEST_WRAPPED) for each in wrapped), *((each, 1) for each in names)):
        less = min(max(least[column] - fewest, 0), max(-room, 0))
        least[column], room = least[column] - less, room + less
    drawn = []
    for number, line in enumerate(lines):
        drawn += [""] if number - 1 in apart else []
        written = ((line.cells[column], width, column in wrapped) for column, width in least.items())
        texts = (_wrap(text, width) if may_wrap else [_fit(text, width)] for text, width, may_wrap in written)
        for row in zip_longest(*texts, fillvalue=""):
            cells = []
            for text, (column, width) in zip(row, least.items(), strict=True):
                padding = " " * (width - cell_len(text))
                cell = text + padding if column in words else padding + text
                cells.append(paint(cell, line.colours.get(column, ""), style))
            drawn.append((" " * gap).join(cells).rstrip())
        if is_ruled and number == 0:
            drawn.append(paint("─" * (sum(width + gap for width in least.values()) - gap), "dim", style))
    return to_terminal("\n".join(drawn), style)


def _fit(text: str, width: int) -> str:
    """Shorten a name to ``width`` cells and keep its end, which has the numbers that tell names apart."""
    name = text.lstrip("✗ ")
    indent = text[: len(text) - len(name)]
    while cell_len(text) > width and name:
        name = name[1:]
        text = f"{indent}…{name}"
    return text
