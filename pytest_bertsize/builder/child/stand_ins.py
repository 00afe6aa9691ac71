"""Stand-ins for what a project's code names and is not there: they can be held, and fail as soon as they are used."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn, cast

from pytest_bertsize.builder.confined import Refused, refuse

MORE = "eq ne lt le gt ge str format bytes fspath matmul rmatmul next enter exit await aiter aenter aexit mro_entries"
OPERATIONS = {each for kind in (int, list, dict, set) for each in vars(kind) if each.startswith("__")}
OPERATIONS -= {*vars(object), "__getnewargs__"}  # of every object, and of a copy
OPERATIONS |= {f"__{each}__" for each in f"{MORE} instancecheck subclasscheck".split()}
STOOD_IN: dict[str, None] = {}
"""Sentences on what stood in for what, as keys."""


class StandIn:
    """A module that is not there, or a name of one."""

    def __init__(self, name: str) -> None:
        vars(self).update(__name__=name, __path__=[], __spec__=ModuleSpec(name, None))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return vars(self).setdefault(name, type(self)(f"{self.__name__}.{name}"))

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Return nothing while a file is imported, as where a logger is made; fail anywhere else."""
        if sys._getframe(1).f_code.co_name != "<module>":  # noqa: SLF001  (the one way to know who calls)
            self._fail()
        if type(self) is StandIn:
            STOOD_IN[f"{self.__name__} is not installed, and its call at import returned nothing"] = None
        return Result(f"{self.__name__}(…)")

    def _fail(self, *_: Any, **__: Any) -> NoReturn:
        there = '(python = ".venv/bin/python" in [tool.bertsize] names where)'
        library = self.__name__.partition(".")[0]
        what, way_out = "is not installed where the model is built", f"install it there {there}"
        if not isinstance(sys.modules.get(library, self), StandIn):
            what = f"is not in the {library} that is installed where the model is built"
            way_out = f"write the name that it has there, or install a release that has this one {there}"
        refuse(Refused(f"{self.__name__} is used, and {what}; {way_out}"))


class Result(StandIn):
    """What a call at import returned: no module may have it, for it could be a layer."""


for _operation in OPERATIONS:
    setattr(StandIn, _operation, StandIn._fail)  # noqa: SLF001


def load_extension(name: str, *_: object, **__: object) -> StandIn:
    """Do what ``torch.utils.cpp_extension.load`` does, and compile nothing."""
    STOOD_IN[f"the extension {name} is not compiled, and nothing used it"] = None
    return StandIn(name)


def run_with_stand_ins(run: Callable[[], Any], is_own: Callable[[str], bool]) -> Any:
    """Run code of the project, again for each name that it misses; what it catches itself stays missing for it.

    :param is_own: whether a module is one of the project's, and has to be there.
    """
    for _ in range(100):
        before = {*sys.modules}
        try:
            return run()
        except (ImportError, AttributeError) as error:
            name = _missing_name(error)
            if not name or is_own(name) or name in sys.modules:
                raise
        _stand_in_for(name)
        for each in {*sys.modules} - before:
            if is_own(each):
                del sys.modules[each]
    return run()


def _missing_name(error: ImportError | AttributeError) -> str:
    """Return the dotted name of what is not there, a module or a name of one; ``""`` for any other error."""
    if isinstance(error, ModuleNotFoundError):
        return error.name or ""
    if isinstance(error, ImportError):
        found = re.match(r"cannot import name '(\w+)'", str(error))
        return f"{error.name}.{found[1]}" if found and error.name else ""
    holder = getattr(error, "obj", None)
    return f"{holder.__name__}.{error.name}" if isinstance(holder, (ModuleType, StandIn)) else ""


def _stand_in_for(name: str) -> None:
    path, _, last = name.rpartition(".")
    holder = sys.modules.get(path)
    sys.modules[name] = found = cast("Any", StandIn(name))
    if holder is not None:
        setattr(holder, last, found)
    if not isinstance(holder, StandIn):
        STOOD_IN[f"{name} is not installed, and nothing used it"] = None
