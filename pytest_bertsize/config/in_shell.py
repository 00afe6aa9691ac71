"""What a shell script gives a program, or a ``.cfg`` sets: ``train.sh#model_name`` stands behind ``--model_name``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.config.model_config import fail, text_of
from pytest_bertsize.wording import did_you_mean, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = (".sh", ".cfg")
_OPTION = re.compile(r"""(?:^|\s)--?(?P<name>[A-Za-z][\w-]*)(?:=|[ \t]+)["']?(?P<value>[\w./-]+)["']?(?=\s|\\|$)""")
_VARIABLE = re.compile(
    r"""^[ \t]*(?:export )?(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*["']?(?P<value>[\w./-]+)["']?[ \t]*$"""
)


class Given(NamedTuple):
    """What an option, or a variable, is set to."""

    name: str
    value: str
    line: int


def given(text: str) -> Iterator[Given]:
    """Every option and variable of a script, in its order; ``-`` in a name is ``_``."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#"):
            continue
        for pattern in (_VARIABLE, _OPTION):
            for found in pattern.finditer(line):
                yield Given(found["name"].replace("-", "_"), found["value"], number)


def parse(content: bytes, file: str, inner: str) -> str:
    """What stands behind an option: the name of a published config.

    :raises Unusable: where there is no such option, or several that are given different things.
    """
    found = [each for each in given(text_of(content, file)) if each.name == inner]
    if not found:
        names = [each.name for each in given(text_of(content, file))]
        fail(
            file,
            f"there is no option {printable(inner)} in the file",
            did_you_mean(inner, names, "correct what follows the #"),
        )
    if len({each.value for each in found}) > 1:
        lines = ", ".join(str(each.line) for each in found[:6])
        message = f"{printable(inner)} stands there {len(found)} times, and is not given the same (lines {lines})"
        fail(file, message, "name a file that has it once", found[0].line)
    return found[0].value
