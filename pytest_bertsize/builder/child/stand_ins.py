"""Stand-ins for names that the project's code imports and that are not installed; code that uses one fails.

What the code asks of a device or of torch's hub is left undone, because it changes no shape.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn, cast

from pytest_bertsize.builder.confined import Refused, refuse
from pytest_bertsize.wording import MOST_NAMED, listed

MORE = "lt le gt ge str format bytes fspath matmul rmatmul next enter exit await aiter aenter aexit mro_entries"
OPERATIONS = {each for kind in (int, list, dict, set) for each in vars(kind) if each.startswith("__")}
OPERATIONS -= {*vars(object), "__getnewargs__"}  # of every object, of a copy
OPERATIONS |= {f"__{each}__" for each in f"{MORE} instancecheck subclasscheck".split()}
STOOD_IN: dict[str, dict[str, None]] = {}  # each kind of stand-in, in words, and the replaced names, as keys
ADDED: list[str] = []  # missing names that this process found while it ran code of the project
THERE = '(python = ".venv/bin/python" in [tool.bertsize] names the interpreter)'
ADD_FOLDER = "add the folder of a module of your own to pytest's pythonpath"


def note_stand_in(what: str, name: str) -> None:
    STOOD_IN.setdefault(what, {})[name] = None


def describe_stand_ins() -> tuple[str, ...]:
    """Return a sentence for each kind of stand-in: ``not installed and not used: wandb, apex``."""
    return tuple(f"{what}: {listed([*names], MOST_NAMED)}" for what, names in STOOD_IN.items())


class StandIn:
    """A stand-in for a module that is not installed, or for a name in a module.

    While a file is imported, it may call a stand-in, set an item or write ``Run | None``. Any other use fails.
    """

    def __init__(self, name: str, *, is_made: bool = False) -> None:
        """:param is_made: whether it stands for the result of a call or the like, which could be a layer."""
        vars(self).update(__name__=name, __path__=[], __spec__=ModuleSpec(name, None), is_made=is_made)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return vars(self).setdefault(name, StandIn(f"{self.__name__}.{name}", is_made=self.is_made))

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self._use_at_import("(…)", "not installed, and called at import, which returned nothing")

    def __setitem__(self, *_: object) -> None:
        self._use_at_import("[…]", "not installed, and set at import without effect")

    def __or__(self, other: object) -> Any:
        return self._use_at_import(" | …")

    __ror__ = __or__
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        """Compare by identity if ``typing`` asks, as for ``Optional[Run]``; fail anywhere else."""
        if sys._getframe(1).f_globals.get("__name__") != "typing":
            self._fail()
        return self is other

    def _use_at_import(self, how: str, note: str = "") -> Any:
        """Return another stand-in if the calling code is the top level of a file, or the body of a class; else fail."""
        frame = sys._getframe(2)  # noqa: SLF001
        if frame.f_code.co_name != "<module>" and "__qualname__" not in frame.f_locals:
            self._fail()
        if note and not self.is_made:
            note_stand_in(note, self.__name__)
        return StandIn(f"{self.__name__}{how}", is_made=True)

    def _fail(self, *_: Any, **__: Any) -> NoReturn:
        fix = f"install it there {THERE}, write the name that an installed library has for it, or {ADD_FOLDER}"
        refuse(Refused(f"{self.__name__} is used, but not installed where the model is built", fix))


for _operation in OPERATIONS - vars(StandIn).keys():
    setattr(StandIn, _operation, StandIn._fail)  # noqa: SLF001


def run_with_stand_ins(run: Callable[[], Any], is_own: Callable[[str], bool]) -> Any:
    """Run code of the project; if a name that is not installed (nor ``is_own``) stops it, run it with a stand-in there.

    A stopped run leaves its effects, so another process runs the code with stand-ins for all of :data:`ADDED`.
    """
    for _ in range(100):
        before = {*sys.modules}
        try:
            return run()
        except (ImportError, AttributeError) as error:
            name = _find_missing_name(error)
            path, _, last = name.rpartition(".")
            is_there = name in sys.modules and (not path or hasattr(sys.modules.get(path), last))
            if not name or is_own(name) or is_there:
                raise
        if name not in sys.modules:  # transformers 5 may replace its module, and lose the names put there
            ADDED.append(name)
        stand_in_for(name)
        for each in {*sys.modules} - before:
            if is_own(each):
                del sys.modules[each]
    return run()


def stand_in_for(name: str) -> None:
    """Put a stand-in where a module, or a name in a module, is missing."""
    path, _, last = name.rpartition(".")
    if path:
        with contextlib.suppress(ImportError):
            importlib.import_module(path)
    holder = sys.modules.get(path)
    sys.modules[name] = found = cast("Any", StandIn(name))
    if holder is not None:
        setattr(holder, last, found)
    if not isinstance(holder, StandIn):
        note_stand_in("not installed and not used", name)


def _find_missing_name(error: ImportError | AttributeError) -> str:
    """Return the dotted name of a missing module, or of a missing name in one; ``""`` for any other error."""
    if isinstance(error, AttributeError):
        holder = getattr(error, "obj", None)
        return f"{holder.__name__}.{error.name}" if isinstance(holder, (ModuleType, StandIn)) else ""
    if str(error).startswith("TensorBoard logging requires"):
        return "torch.utils.tensorboard"
    found = re.match(r"cannot import name '(\w+)'|No module named", str(error))
    return ".".join(filter(None, (error.name, found[1]))) if found and error.name else ""


# a model stays where it is built


class Fetched(dict[str, Any]):
    """An empty state dict in place of weights that ``torch.hub`` would fetch."""


def list_kept_in_place() -> Iterator[tuple[Any, str, Any]]:
    """Yield replacements with which ``model.to(device)`` and the like do nothing, and ``torch.hub`` has no weights."""
    import torch

    def fetch_nothing(url: str, *_: object, **__: object) -> Fetched:
        note_stand_in("weights not fetched and not loaded", url.rpartition("/")[2])
        return Fetched()

    def load_unless_fetched(self: Any, state_dict: Any, *arguments: Any, **named: Any) -> Any:
        return load(self, self.state_dict() if isinstance(state_dict, Fetched) else state_dict, *arguments, **named)

    yield torch.cuda, "set_device", lambda _: None
    for owner in (torch.nn.Module, torch.Tensor):
        yield owner, "to", _convert_only(owner.to)
        for name in ("cuda", "cpu"):
            yield owner, name, lambda self, *_, **__: self
    load = torch.nn.Module.load_state_dict
    yield torch.nn.Module, "load_state_dict", load_unless_fetched
    name, fetch = "load_state_dict_from_url", torch.hub.load_state_dict_from_url
    for module in [*sys.modules.values()]:  # torchvision has a name of its own for it
        if getattr(module, "__dict__", {}).get(name) is fetch:
            yield module, name, fetch_nothing


def _convert_only(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``to`` that changes the dtype and never the device."""
    import torch

    def to(self: Any, *arguments: Any, **named: Any) -> Any:
        said = [*arguments, *named.values()]
        dtypes = (each for each in said if isinstance(each, torch.dtype))
        dtype = next(dtypes, next((each.dtype for each in said if isinstance(each, torch.Tensor)), None))
        if isinstance(self, torch.Tensor) and named.get("copy"):
            return own(self, dtype or self.dtype, copy=True)
        return self if dtype is None else own(self, dtype)

    return to
