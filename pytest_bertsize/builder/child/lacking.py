"""What a project's code imports and is not installed: it may be named, and what uses it is told that it is not there.

A training script imports its logger, its metrics and its optimizer beside its model. None of them makes a parameter,
and the module is built without them; a layer of a library that is not installed is used, and fails the model. What the
code itself catches (``except ImportError``) is missing for it as ever.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 60
"""Modules and names that one project may lack."""
MOVED = ("modeling", "configuration", "tokenization")
"""What ``transformers.models.bert`` has today that transformers 3 had beside it, as ``transformers.modeling_bert``."""


FORMER = ("pytorch_transformers", "pytorch_pretrained_bert")
"""What transformers was called before."""


STOOD_IN: list[str] = []
"""What code of the project imports and is not there, or is there by another name: a sentence each."""
USED: list[str] = []
"""What was used and is not there, even where the code takes that for an answer."""


class NotInstalled(ImportError):
    """What is not there was used."""


class Lacking(ModuleType):
    """A module, or a name of one, that is not there."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name != "__version__":
            raise AttributeError(name)
        return type(self)(f"{self.__name__}.{name}")

    def _used(self, *_: Any, **__: Any) -> NoReturn:
        USED.append(self.__name__)
        raise NotInstalled(f"{self.__name__} is used, and is not installed where the model is built")

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Where a file is imported, it is asked for a logger or a tokenizer: nothing comes of it until that is used."""
        if sys._getframe(1).f_code.co_name != "<module>":  # noqa: SLF001  (the one way to know who calls)
            self._used()
        said = f"{self.__name__} is called where a file is imported, is not installed, and gave nothing"
        STOOD_IN.extend([said] if said not in STOOD_IN else [])
        return Nothing(f"{self.__name__}(…)")

    __iter__ = __len__ = __bool__ = __getitem__ = __enter__ = __eq__ = __lt__ = __gt__ = _used
    __contains__ = __add__ = __or__ = __ror__ = __mro_entries__ = __instancecheck__ = __index__ = _used
    __subclasscheck__ = __format__ = __str__ = __ne__ = __le__ = __ge__ = _used
    __setitem__ = __delitem__ = __sub__ = __mul__ = __truediv__ = __matmul__ = __mod__ = __radd__ = __rmul__ = _used
    __next__ = __exit__ = __int__ = __float__ = __neg__ = __await__ = __iadd__ = _used
    __hash__ = ModuleType.__hash__


class Nothing(Lacking):
    """What a call of what is not there has given: no module may hold it, for it could be a layer."""


class _Finder:
    """Finds what was found missing, and what lies below it."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, name: str, *_: object) -> Any:
        if any(name == each or name.startswith(f"{each}.") for each in self.names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: Any) -> ModuleType:
        return Lacking(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def without_what_lacks(do: Callable[[], Any], is_own: Callable[[str], bool]) -> Any:
    """Import the project's code, again for each thing that it lacks.

    :param is_own: whether a module is one of the project's, and has to be there.
    """
    finder = _Finder()
    sys.meta_path.append(finder)
    for _ in range(MOST):
        before = set(sys.modules)
        try:
            return do()
        except NotInstalled:
            raise
        except (ImportError, AttributeError) as error:
            if not (_supplied(error, finder, is_own) if isinstance(error, ImportError) else _former_name(error)):
                raise
            for name in set(sys.modules) - before:
                if is_own(name):
                    del sys.modules[name]
    return do()


def _supplied(error: ImportError, finder: _Finder, is_own: Callable[[str], bool]) -> bool:
    """Whether the next attempt gets further."""
    name = error.name or ""
    if not name or is_own(name):
        return False
    if isinstance(error, ModuleNotFoundError):
        if (moved := _moved(name)) is not None:
            sys.modules[name] = moved
            STOOD_IN.append(f"{name} is what transformers has by another name today")
        elif name in finder.names:
            return False
        else:
            finder.names.add(name)
            STOOD_IN.append(f"{name} is imported and not installed, and was not used")
        return True
    lacking = getattr(error, "name_from", None) or str(error).partition("cannot import name '")[2].partition("'")[0]
    module = sys.modules.get(name)
    if module is None or not lacking or isinstance(module, Lacking):
        return False
    setattr(module, lacking, Lacking(f"{name}.{lacking}"))
    STOOD_IN.append(f"{name} has no {lacking}, which is imported and was not used")
    return True


def _former_name(error: AttributeError) -> bool:
    """``transformers.AdamW``, asked for as an attribute of the library that had it."""
    module, name = getattr(error, "obj", None), getattr(error, "name", None) or ""
    if not isinstance(module, ModuleType) or isinstance(module, Lacking) or not name.isidentifier():
        return False
    if module.__name__.partition(".")[0] != "transformers" or hasattr(module, name):
        return False
    setattr(module, name, Lacking(f"{module.__name__}.{name}"))
    STOOD_IN.append(f"{module.__name__} has no {name}, which is asked for and was not used")
    return True


def _moved(name: str) -> ModuleType | None:
    """What the library calls otherwise today: by the place of a module, or by its own former names."""
    library, _, rest = name.partition(".")
    if library not in FORMER and library != "transformers":
        return None
    kind, _, family = rest.partition("_")
    here = f"transformers.models.{family}.{rest}" if kind in MOVED and family else ""
    if library in FORMER:
        here = here or {"": "transformers", "modeling": "transformers.models.bert.modeling_bert"}.get(rest, "")
    try:
        return _with_all(name, importlib.import_module(here)) if here else None
    except ImportError:
        return None


def _with_all(name: str, module: ModuleType) -> ModuleType:
    """As it was then: ``from … import *`` brought ``nn`` along, where today an ``__all__`` holds it back."""
    former = ModuleType(name)
    former.__dict__.update({each: value for each, value in vars(module).items() if each not in {"__all__", "__name__"}})

    def later(each: str) -> Any:
        if each.startswith("__"):
            raise AttributeError(each)
        return getattr(module, each)

    former.__getattr__ = later  # type: ignore[method-assign]
    return former
