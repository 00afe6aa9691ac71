"""Tools that draw in a terminal: the width and colour that it has, ASCII where it encodes no more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from io import StringIO
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rich.cells import cell_len, chop_cells

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

Column = TypeVar("Column", bound=str)

NARROWEST = 60
"""Columns; a narrower terminal wraps."""
MOST_BYTES = 60_000
"""Of what is drawn of one model."""
NAME = 24
"""Cells that a name gets before columns are dropped for it."""
_ASCII = str.maketrans("✗✓×·─█▶→≥…▏▎▍▌▋▊▉", "x+x*-#>>>~    ###")
"""One cell for one cell, so that columns stay where they are."""


class Style(NamedTuple):
    """A terminal's abilities, and how much is asked for."""

    width: int = 80
    colour: bool = False
    unicode: bool = True
    verbosity: int = 0


def can_show(encoding: str | None) -> bool:
    """Tell whether an encoding has all that reports are drawn with."""
    try:
        "✗·²─█▶".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def draw(style: Style, *parts: RenderableType) -> str:
    """Draw parts one under the other; ``""`` where there are none, without the time that it takes to load rich."""
    if not parts:
        return ""
    from rich.console import Console, Group

    drawn = StringIO()
    console = Console(
        file=drawn,
        width=usable(style),
        force_terminal=style.colour,
        color_system="standard" if style.colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(Group(*parts), crop=False)
    text = to_terminal(drawn.getvalue().replace(_KEPT, " "), style)
    return bound_lines([line.rstrip() for line in text.splitlines()])


def colour_text(text: str, colour: str = "") -> Text:
    from rich.text import Text

    return Text(text, style=colour)


def to_terminal(text: str, style: Style) -> str:
    """Replace characters that the terminal cannot encode; a line stays one, whatever its length."""
    return text if style.unicode else text.translate(_ASCII)


def bound_lines(lines: list[str]) -> str:
    """Keep as many lines as a log is asked to take for one model."""
    sizes = accumulate(len(line.encode()) + 1 for line in lines)
    fitting = [line for line, size in zip(lines, sizes, strict=True) if size <= MOST_BYTES]
    if len(fitting) < len(lines):
        fitting.append(f"({len(lines) - len(fitting):,} more lines are not shown: the JSON report has what they say)")
    return "\n".join(fitting)


def hanging(mark: str, colour: str, sentence: str, style: Style) -> RenderableType:
    """Return a sentence that wraps under itself, not under its mark; what is to be pasted stays on one line.

    :param colour: of the mark or, where there is none, of the sentence.
    """
    from rich.text import Text

    kept = _PASTED.sub(lambda found: found[0].replace(" ", _KEPT), powers(sentence, style))
    room = usable(style) - cell_len(mark)
    lines = [line for part in kept.split("\n") for line in _wrap(part, room)]
    drawn = Text(no_wrap=True, overflow="ignore", style="" if mark else colour)
    drawn.append(mark, style=colour).append(f"\n{' ' * cell_len(mark)}".join(lines))
    return drawn


def _wrap(text: str, room: int) -> list[str]:
    """Break a text between words; a word that is longer than a line is folded, unless it is to be pasted."""
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


def draw_marked(mark: str, text: str, style: Style) -> str:
    """Draw a sentence that wraps under itself behind its mark; one without a mark, as it is."""
    return draw(style, hanging(mark, "", text, style))


_KEPT = "\ue000"
"""A space at which no line is broken."""
_VALUE = r"""(?:"[^"]*"|\[[^][{}]*\]|\{(?:[^{}]|\{[^{}]*\})*\}|-?[\d_.]+|true|false)"""
_ARGUMENT = r"""(?: --?[\w-]+(?:[= ](?:"[^"]*"|[^\s;,()"]+))?)"""
_PASTED = re.compile(
    r"\{ name = .*? \}(?=, \{ name = | ?\]|$)"  # a row of extra
    rf'|(?:[\w.]*"[^"]*"|[\w.]+) = {_VALUE}|"[^"]*": {_VALUE}'  # a key of TOML, and of JSON
    r"|\{(?:[^{}]|\{[^{}]*\})*\}|\[[\w., \"-]+\]"  # a table, a list
    r"|\b(?:hf download|git lfs|pip install)(?: (?!(?:and|or|if|to|in|where)\b)[^\s;,()]+)+"
    rf"|\b(?:bertsize|git|pytest)(?: [\w./:-]+){{0,3}}?{_ARGUMENT}+"
)
"""What is written in one line of TOML, JSON or a shell, which no line of the terminal may break."""


def drop_columns(needed: Mapping[Column, int], dropped_first: Iterable[Column], room: int) -> list[Column]:
    """Drop whole columns, the least important ahead, until the rest fits.

    :param needed: the cells of every column, with the gap beside it.
    """
    columns = list(needed)
    for dropped in dropped_first:
        if dropped in columns and sum(needed[column] for column in columns) > room:
            columns.remove(dropped)
    return columns


def usable(style: Style) -> int:
    return max(style.width, NARROWEST) - 1


def powers(text: str, style: Style) -> str:
    """Write superscripts out before anything is laid out: they need two cells in ASCII."""
    return text if style.unicode else text.replace("²", "^2").replace("³", "^3")


def fit(text: str, width: int) -> str:
    """Shorten a name to a number of cells from its left: its end tells it from its neighbours and has the numbers."""
    if cell_len(text) <= width:
        return text
    name = text.lstrip("✗ ")
    indent = text[: len(text) - len(name)]
    while name and cell_len(name) > width - len(indent) - 1:
        name = name[1:]
    return f"{indent}…{name}"
