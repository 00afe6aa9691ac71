"""Text for a terminal: within its width, in colour if it has colours, and in ASCII if it can show nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rich.cells import cell_len, chop_cells

if TYPE_CHECKING:
    from rich.console import RenderableType

Column = TypeVar("Column", bound=str)

NARROWEST = 60  # the fewest columns for which lines are drawn; a narrower terminal wraps them
_ASCII = str.maketrans("✗✓×·─█▶→≥…▏▎▍▌▋▊▉", "x+x*-#>>>~    ###")
"""Replacements in ASCII: each is one cell wide, like its original, so that columns stay aligned."""
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "bold red": "1;31"}
"""Codes of ECMA-48 (Select Graphic Rendition)."""


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


# sentences


def draw(style: Style, *parts: RenderableType) -> str:
    """Draw ``parts`` one below the other; return ``""`` for none, without importing ``rich.console``."""
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
    return "\n".join(line.rstrip() for line in text.splitlines())


def hanging(mark: str, colour: str, sentence: str, style: Style) -> RenderableType:
    """Return a sentence after its mark: indent further lines by the mark's width, and do not break text to paste.

    :param colour: the colour of the mark; without a mark, that of the sentence.
    """
    from rich.text import Text

    kept = _PASTED.sub(lambda found: found[0].replace(" ", _KEPT), powers(sentence, style))
    room = usable(style) - cell_len(mark)
    lines = [line for part in kept.split("\n") for line in _wrap(part, room)]
    drawn = Text(no_wrap=True, overflow="ignore", style="" if mark else colour)
    drawn.append(mark, style=colour).append(f"\n{' ' * cell_len(mark)}".join(lines))
    return drawn


def draw_marked(mark: str, text: str, style: Style) -> str:
    """Draw a sentence after ``mark``; indent further lines by the width of the mark."""
    return draw(style, hanging(mark, "", text, style))


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
_PASTED = re.compile(
    r"\{ name = .*? \}(?=, \{ name = | ?\]|$)"  # a row of extra
    rf'|(?:[\w.]*"[^"]*"|[\w.]+) = {_VALUE}|"[^"]*": {_VALUE}'  # a key of TOML, and of JSON
    r"|\{(?:[^{}]|\{[^{}]*\})*\}|\[[\w., \"-]+\]"  # a table, a list
    r"|\b(?:hf download|git lfs|pip install)(?: (?!(?:and|or|if|to|in|where)\b)[^\s;,()]+)+"
    rf"|\b(?:bertsize|git|pytest)(?: (?:[\w./:-]+|'[^']*')){{0,3}}?{_ARGUMENT}+"
    r"|\bbertsize init (?:[\w.]+:[\w.]+|'[^']*')"
)
"""The pattern of text that a user pastes (TOML, JSON or a shell command), which must not wrap."""


# tables: numbers are never cut; whole columns are dropped, the least important first


class Line(NamedTuple):
    """One line of a table: the text of each column, and the colours of some."""

    cells: Mapping[str, str]
    colours: Mapping[str, str] = {}


def draw_table(
    lines: Iterable[Line],
    words: Sequence[str],
    dropped_first: Iterable[str],
    style: Style,
    *,
    name: int = 24,
    is_ruled: bool = False,
) -> str:
    """Draw the columns that are not empty, without importing ``rich.console``.

    :param words: the columns aligned to the left, the first of which has names, which may be shortened.
    :param name: the width in cells to which longer names are shortened before other columns are dropped.
    """
    lines, names, gap = [*lines], words[0], 1 if is_ruled else 2
    used = [column for column in lines[0].cells if any(line.cells[column] for line in lines)]
    lines.insert(0, Line({column: column for column in used}, dict.fromkeys(used, "bold")))
    widths = {column: max(cell_len(line.cells[column]) for line in lines) for column in used}
    needed = {column: width + gap for column, width in widths.items()}
    needed[names] = min(widths[names], name) + gap
    shown = drop_columns(needed, dropped_first, usable(style) + gap)
    widths[names] = min(widths[names], usable(style) + needed[names] - sum(needed[column] for column in shown))
    drawn = []
    for line in lines:
        cells = []
        for column in shown:
            text = fit(line.cells[column], widths[column])
            padding = " " * (widths[column] - cell_len(text))
            text = text + padding if column in words else padding + text
            cells.append(_paint(text, line.colours.get(column, ""), style))
        drawn.append((" " * gap).join(cells).rstrip())
    if is_ruled:
        drawn.insert(1, _paint("─" * (sum(widths[column] + gap for column in shown) - gap), "dim", style))
    return to_terminal("\n".join(drawn), style)


def _paint(text: str, colour: str, style: Style) -> str:
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if style.colour and colour and text.strip() else text


def drop_columns(needed: Mapping[Column, int], dropped_first: Iterable[Column], room: int) -> list[Column]:
    """Drop columns in the order of ``dropped_first``, until the others fit in ``room`` cells.

    :param needed: the width of every column in cells, with the gap beside it.
    """
    columns = list(needed)
    for dropped in dropped_first:
        if dropped in columns and sum(needed[column] for column in columns) > room:
            columns.remove(dropped)
    return columns


def fit(text: str, width: int) -> str:
    """Shorten a name to ``width`` cells and keep its end, which has the numbers that tell names apart."""
    name = text.lstrip("✗ ")
    indent = text[: len(text) - len(name)]
    while cell_len(text) > width and name:
        name = name[1:]
        text = f"{indent}…{name}"
    return text
