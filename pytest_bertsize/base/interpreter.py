"""Which interpreter builds the models of a run, and that a change of it does not come with the table alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bertsize.table.model import NoInterpreter, in_folder
from pytest_bertsize.table.schema import TABLE
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.table.settings import Settings

KEY = (*TABLE, "python")


def named(today: Settings, asked: str | None, option: str) -> Settings:
    """The project's table with the interpreter that is meant, which an option says in the table's place.

    :raises SettingsError: for an option that names none.
    """
    if asked is None:
        return today
    if not asked:
        raise SettingsError(f'{option}="": names no interpreter; write its path, as in {option}=.venv/bin/python')
    return replace(today, interpreter=in_folder(Path.cwd(), asked))


def refuse(today: Settings, asked: str | None, former: Baseline | None, option: str, *, builds: bool) -> None:
    """Refuse an interpreter that may not be run, or cannot be.

    It is a program, run before anything is counted, and says what every model counts to: one that the base does not
    name is not run because a change to the table names it.

    :param asked: what the option says; ``None``: nothing.
    :param builds: whether it is run at all; where it is not, it need not be there.
    :raises SettingsError: for another one than the base's, and for what is no interpreter.
    """
    if asked is None:
        _refuse_another(today, former, option)
    try:
        if builds and today.interpreter:
            today.interpreter.check()
    except NoInterpreter as error:
        raise SettingsError(f"{option if asked else _place(today)}: {error}") from None


def _refuse_another(today: Settings, former: Baseline | None, option: str) -> None:
    now = today.interpreter.written if today.interpreter else ""
    if former is None or not (former.models or former.mistaken) or now == former.python:
        return
    said = f"it is {shown(now)}" if now else "there is none"
    before = f"{former.revision} has {shown(former.python) if former.python else 'none'}"
    example = printable(now or former.python)
    raise SettingsError(
        f"{_place(today)}: {said}, and {before}: what is run to count every model is not changed by the table alone; "
        f"name it in the command until the base has it, as in {option}={example}"
    )


def _place(today: Settings) -> str:
    line = today.line(KEY)
    return f"{today.file}:{line}: {'.'.join(KEY)}" if line else f"{today.file}: {'.'.join(KEY)}"
