"""The helper's making of a module on the meta device: of a class of a library, or by a function of the project."""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.child.from_pretrained import answering
from pytest_bertsize.builder.child.older_code import complete_init_weights
from pytest_bertsize.builder.child.stand_ins import run_with_stand_ins
from pytest_bertsize.builder.child.staying import staying
from pytest_bertsize.builder.confined import Refused, in_words

if TYPE_CHECKING:
    from torch import nn


def is_own_code(request: Mapping[str, Any]) -> bool:
    """Whether it runs code of the project: a function, or a class that is no library's."""
    return bool(request["factory"]) or request["module"] != "transformers"


ON_CPU = 'have it built where there are values: build.device = "cpu"'


def way_out(error: BaseException, request: Mapping[str, Any]) -> str:
    """What to write about a model that was not made, where that is known here, as of a device without values."""
    cause = error.__cause__ or error
    on_meta = request["device"] == "meta" and isinstance(cause, (RuntimeError, ValueError, TypeError))
    if on_meta and re.search(r"\bmeta\b", in_words(cause), re.IGNORECASE):
        return ON_CPU
    return str(getattr(error, "fix", ""))


def prepare(request: Mapping[str, Any]) -> None:
    """Import what a model is made by, before its memory is watched; where there are values, always the same."""
    if request["device"] == "cpu":
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
    if request["adapter"]:
        importlib.import_module("pytest_bertsize.builder.child.lora")
    with _in_its_root(request):
        if request["factory"]:
            _factory(request)
        elif not request["modules"]:
            model_class_of(request)
    make_a_first_module()


@cache
def make_a_first_module() -> None:
    """It imports 80 MB of torch and sympy where transformers 5 has not done so already, which are no model's."""
    import torch

    with torch.device("meta"):
        torch.nn.Embedding(1, 1)
        torch.nn.Linear(1, 1)


def instantiate(request: Mapping[str, Any]) -> nn.Module:
    """Build one model, on the meta device as a rule: no memory, no weights, no network, ties kept.

    :param request: the fields of a :class:`~pytest_bertsize.builder.messages.Request`.
    :raises Refused: when there is no such class or function, the class belongs to another family, or the function
        returns something else than a module.
    """
    with _in_its_root(request):
        model = _from_factory(request) if request["factory"] else _of_the_library(request)
    if not request["adapter"]:
        return model
    from pytest_bertsize.builder.child.lora import adapt

    return adapt(model, request["adapter"], request["device"])


@contextlib.contextmanager
def _in_its_root(request: Mapping[str, Any]) -> Iterator[None]:
    """Code of the project runs in the project's folder, is answered by name, and nothing else notices."""
    if not is_own_code(request):
        yield
        return
    before = os.getcwd()  # noqa: PTH109  (os is there)
    os.chdir(request["root"])
    try:
        with answering(request), staying():
            yield
    finally:
        os.chdir(before)


def _of_the_library(request: Mapping[str, Any]) -> nn.Module:
    """A class of transformers, or a folder of several modules."""
    if not request["modules"]:
        return _from_class(request)
    from pytest_bertsize.builder.child.modules import whole

    return whole(request)


def _from_class(request: Mapping[str, Any]) -> nn.Module:
    import torch

    model_class = model_class_of(request)
    config = config_of(request)  # fresh: constructors change their config
    with torch.device(request["device"]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tensor without elements counts like any other
        model: nn.Module = model_class(config, **request["options"])
    return model


def config_of(request: Mapping[str, Any]) -> Any:
    """The config object of a class, from what is handed over.

    :raises Refused: when the class belongs to another family, or a key would take the place of what its config does.
    """
    config_class = model_class_of(request).config_class
    if getattr(config_class, "model_type", None) != request["family"]:
        family = config_class.model_type
        raise Refused(f"{request['architecture']} is of the family {family!r}, not {request['family']!r}")
    _refuse_methods(config_class, request["config"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of keys that are read all the same
        return config_class(**request["config"], attn_implementation="eager")


def model_class_of(request: Mapping[str, Any]) -> Any:
    """:raises Refused: when the library has no such model class."""
    import transformers

    library = request["module"]
    module = transformers if library == "transformers" else _module(library, request["root"])
    found = getattr(module, request["architecture"], None)
    if inspect.isclass(found) and issubclass(found, transformers.PreTrainedModel):
        return found
    where = f"transformers {transformers.__version__}" if module is transformers else library
    raise Refused(f"{where} has no model class {request['architecture']}")


def _refuse_methods(config_class: type, config: Mapping[str, Any]) -> None:
    """A config is data: none of its keys may take the place of what its class does."""
    for key in config:
        found = inspect.getattr_static(config_class, key, None)
        read_only = isinstance(found, property) and found.fset is None
        if read_only or isinstance(found, (staticmethod, classmethod)) or inspect.isroutine(found):
            raise Refused(f"{key!r} is a method of {config_class.__name__}, not a key of a config; remove it")


# the project's own function


def _from_factory(request: Mapping[str, Any]) -> Any:
    """What the project's function returns, called with the config as a dict of its own."""
    import torch

    function = _factory(request)
    arguments = (copy.deepcopy(request["config"]),) if request["config_given"] else ()
    if request["config_may_be_read"] and _takes_nothing(function):
        arguments = ()
    _refuse_other_arguments(function, arguments, request["factory"])
    with torch.device(request["device"]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        complete_init_weights()
        made = run_with_stand_ins(lambda: function(*copy.deepcopy(arguments)), partial(_is_in, request["root"]))
    if isinstance(made, torch.nn.Module):
        return made
    close = getattr(made, "close", None)
    if inspect.iscoroutine(made) and close:
        close()
    kind = "nothing" if made is None else f"a {type(made).__name__}"
    what = f"the class {made.__name__}, not a module of it" if inspect.isclass(made) else kind
    raise Refused(f"{request['factory']} returned {what}; it has to return a torch.nn.Module")


def _takes_nothing(function: Callable[..., Any]) -> bool:
    try:
        return not inspect.signature(function).parameters
    except (TypeError, ValueError):  # a class of C
        return False


def _factory(request: Mapping[str, Any]) -> Callable[..., Any]:
    library, _, path = request["factory"].partition(":")
    found: Any = _module(library, request["root"])
    for name in path.split("."):
        if not hasattr(found, name):
            raise Refused(f"the module {library} has no {path}; correct the name")
        found = getattr(found, name)
    if not callable(found):
        kind = type(found).__name__
        raise Refused(f"{request['factory']} is of type {kind}, which cannot be called; name a function")
    function: Callable[..., Any] = found
    return function


def _refuse_other_arguments(function: Callable[..., Any], arguments: tuple[Any, ...], name: str) -> None:
    """Say by which arguments it is called, where it cannot be by them."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a class of C
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        given = "one argument, the config as a dict" if arguments else "no argument, because no config is named"
        raise Refused(f"{name}{signature} is called with {given}: {error}") from None


def _is_in(root: str, name: str) -> bool:
    """Whether a module is one of the project's own."""
    first = name.partition(".")[0]
    folders = [os.path.abspath(each or root) for each in sys.path]  # noqa: PTH100  (os is there)
    own = [each for each in folders if f"{each}/".startswith(f"{os.path.abspath(root)}/")]  # noqa: PTH100
    files = (os.path.join(each, first + end) for each in own for end in ("", ".py"))  # noqa: PTH118
    return any(map(os.path.exists, files))


def _module(library: str, root: str) -> Any:
    """Import a module of the project, from the project's root.

    :raises Refused: when a module of another place has its name, as one of the standard library may.
    """
    sys.path.insert(0, root)
    first = library.partition(".")[0]
    found = run_with_stand_ins(
        lambda: importlib.import_module(library),
        lambda name: name.partition(".")[0] == first or _is_in(root, name),
    )
    path = library.replace(".", os.sep)
    meant = [each for each in (f"{path}.py", f"{path}/__init__.py") if os.path.isfile(each)]  # noqa: PTH113  (os.path is there)
    file = getattr(found, "__file__", None) or "a module of Python itself"
    if meant and os.path.realpath(file) not in map(os.path.realpath, meant):
        raise Refused(f"{library} is {file}, and not the project's {meant[0]}: rename the project's")
    return found
