"""Build a module: from a class of a library, from a folder of sentence-transformers, or by code of the project."""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from pytest_bertsize.builder.child import listing
from pytest_bertsize.builder.child.from_pretrained import functions_replaced, vary
from pytest_bertsize.builder.child.stand_ins import describe_stand_ins, run_with_stand_ins
from pytest_bertsize.builder.confined import CALLED, HANDED, HandedOver, Refused, describe_error, hide_secrets
from pytest_bertsize.builder.messages import ConfigSaid, Module, NotBuilt, Request, Why, exceed_limit

if TYPE_CHECKING:
    from torch import nn

ENCODERS = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel", "umt5": "UMT5EncoderModel"}  # without decoders
CALL_IT = "call it on the finished model (from pytest_bertsize import check_model)"
BEFORE_CHECK = (
    "fix that, or make the model and call check_model above that line; else write a function that makes it, and "
    'factory = "module:function"'
)
NO_WEIGHTS = (
    "a count needs no weights: load them only if their file exists (if Path(file).exists()), and commit any other "
    "file to the project"
)


def import_maker(request: Request) -> None:
    """Import the class or function that makes a model, before memory is limited; on the CPU, also fix the seed."""
    import torch

    if request.device == "cpu":
        torch.set_num_threads(1)
        torch.manual_seed(0)
    if request.adapter:
        import_peft()
    with _working_in_root(request), contextlib.suppress(HandedOver):
        if request.factory and not request.command:
            _find_factory(request)
        elif not request.factory and not request.modules:
            find_model_class(request)
    for kind in (torch.nn.Embedding, torch.nn.Linear):  # the first import 80 MB of torch and sympy: no model's memory
        kind(1, 1, device="meta")


def import_peft() -> tuple[Any, Any]:
    try:
        from peft import PEFT_TYPE_TO_CONFIG_MAPPING, get_peft_model
    except ImportError as error:
        lacks = f"the model has an adapter, and PEFT cannot be imported ({type(error).__name__}: {error})"
        fits = "pip install 'pytest-bertsize[peft]' where the model is built, in a release that fits transformers"
        raise Refused(lacks, fits) from None
    return PEFT_TYPE_TO_CONFIG_MAPPING, get_peft_model


def instantiate(request: Request) -> nn.Module:
    """Build one model with its ties, by default on the meta device: without memory for weights, without a network."""
    import torch

    with _working_in_root(request), torch.device(request.device), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tensor without elements counts like any other
        model: nn.Module
        if request.factory:
            model = _run_project(request)
        elif request.modules:
            model = _compose_modules(request)
        else:  # of a fresh config: constructors change theirs
            model = find_model_class(request)(make_config(request), **request.options)
    return adapt(model, request.adapter, request.device) if request.adapter else model


def adapt(model: nn.Module, config: Mapping[str, Any], device: str = "meta") -> nn.Module:
    """Add PEFT's adapter to a model; ``config`` has the arguments of the config class that its ``peft_type`` names."""
    import torch

    configs, get_peft_model = import_peft()
    declared = listing.declared_ties(dict(listing.walk_modules(model, wrapped=False)))
    arguments = dict(config)
    with torch.device(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapted: Any = get_peft_model(model, configs[arguments.pop("peft_type", "LORA")](**arguments))
    adapted.all_tied_weights_keys = listing.name_ties(adapted, model, declared)
    return cast("nn.Module", adapted)


@contextlib.contextmanager
def _working_in_root(request: Request) -> Iterator[None]:
    """Run code of the project in the project's folder, and answer its calls of ``from_pretrained``."""
    if not request.runs_own_code:
        yield
        return
    before = os.getcwd()  # noqa: PTH109  (os is there)
    os.chdir(request.root)
    CALLED.append(request.declared)
    try:
        with functions_replaced(request.hub, request.varied):
            yield
    finally:
        CALLED.pop()
        os.chdir(before)


def explain_error(error: BaseException, request: Request, written: str = "") -> NotBuilt:
    """Return why a model was not built; ``written`` is the last line that its code wrote to standard error."""
    cause, text = error.__cause__ or error, describe_error(error, request.root)
    if isinstance(cause, Refused):
        return NotBuilt(text, hide_secrets(cause.fix), cause.kind)
    kind: Why = "other"
    fix = BEFORE_CHECK if request.command else ""
    is_usual = isinstance(cause, (RuntimeError, ValueError, TypeError))
    if isinstance(cause, SystemExit):
        after = f", after it wrote {written!r} to stderr" if written and isinstance(cause.code, int) else ""
        handed = "handed over" if request.command else "returned"
        text = f"the code exited before it {handed} a model: {text}{after}"
    elif isinstance(cause, MemoryError) or re.search("(not enough|out of|allocate) memory", text.lower()):
        return exceed_limit(request, text, "memory")
    elif isinstance(cause, ImportError if request.factory else ModuleNotFoundError):
        fix = "add the folder of a module of your own to pytest's pythonpath, or install it, or correct its name"
        if cause.name == "transformers" and not request.factory:
            kind = "no-transformers"
    elif isinstance(cause, FileNotFoundError):
        fix = fix or NO_WEIGHTS
    else:
        text = "; ".join((text, *describe_stand_ins()))
        if request.device == "meta" and is_usual and re.search(r"\bmeta\b", text.lower()):
            kind, fix = "on-meta", 'build it with values: build.device = "cpu"'
    return NotBuilt(text, fix, kind)


# a class of the library


def make_config(request: Request) -> Any:
    """Make a config object: of the right family, and from keys that replace no method, because a config is data."""
    config_class = find_model_class(request).config_class
    family = getattr(config_class, "model_type", None)
    if family != request.family:
        raise Refused(f"{request.architecture} belongs to the family {family!r}, not {request.family!r}")
    for key in request.config:
        found = inspect.getattr_static(config_class, key, None)
        read_only = isinstance(found, property) and found.fset is None
        if read_only or isinstance(found, (staticmethod, classmethod)) or inspect.isroutine(found):
            raise Refused(f"{key!r} is a method of {config_class.__name__}, not a key of a config", "remove it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of keys that are read all the same
        return config_class(**request.config, attn_implementation="eager")


def find_model_class(request: Request) -> Any:
    """Return the model class of transformers or of a module of the project."""
    import transformers

    is_own = request.module != "transformers"
    module = _import_module(request.module, request) if is_own else transformers
    found = getattr(module, request.architecture, None)
    if inspect.isclass(found) and issubclass(found, transformers.PreTrainedModel):
        return found
    where = request.module if is_own else f"transformers {transformers.__version__}"
    fix = "install a version of transformers that has it, or correct the name"
    raise Refused(f"{where} has no model class {request.architecture}", fix)


def read_config_values(request: Request) -> ConfigSaid:
    """Return the wanted values of a fresh config object, because the constructor of a model may change its config."""
    import transformers

    config, said, read = make_config(request), dict[str, Any](), list[str]()
    for path in request.asked:
        with contextlib.suppress(AttributeError):
            plain = listing.to_json(value := attrgetter(path)(config))
            said[path] = f"a {type(value).__name__}" if plain is listing.ODD else plain
    for path in request.unknown:
        owner, _, key = path.rpartition(".")
        with contextlib.suppress(AttributeError):
            if key in _list_keys(type(attrgetter(owner)(config) if owner else config)):
                read.append(path)
    is_of_library = type(config).__module__.partition(".")[0] == "transformers"
    by = f"transformers {transformers.__version__}" if is_of_library else type(config).__name__
    return ConfigSaid(said, tuple(read), by)


def _list_keys(config_class: type) -> Iterator[str]:
    """Yield the keys that a config's class has beside the keys of every config."""
    from transformers import PretrainedConfig

    yield from getattr(config_class, "attribute_map", {})
    of_every_config = inspect.signature(PretrainedConfig).parameters
    for each in config_class.__mro__[: config_class.__mro__.index(PretrainedConfig)]:
        yield from getattr(each, "__annotations__", ())
        yield from inspect.signature(each).parameters.keys() - of_every_config.keys()


# a folder of modules: made as https://github.com/huggingface/sentence-transformers does, but of plain modules of torch


def _compose_modules(request: Request) -> nn.Module:
    """Make all modules of a folder of sentence-transformers, each under its own path; files give values alone."""
    from torch import nn

    root = nn.Module()
    for module in request.modules:
        root.add_module(module.path, nn.ModuleDict(_make_parts(module)))
    return root


def _make_parts(module: Module) -> dict[str, nn.Module]:
    from torch.nn import LayerNorm, Linear

    config = module.config
    if module.kind == "LayerNorm":
        return {"norm": LayerNorm(config["dimension"])}
    if module.kind == "Dense":
        inputs, outputs = config["in_features"], config["out_features"]
        parts: dict[str, nn.Module] = {"linear": Linear(inputs, outputs, bias=config.get("bias", True))}
        if config.get("use_residual", False) and inputs != outputs:
            parts["residual"] = Linear(inputs, outputs, bias=False)
        return parts
    if module.kind not in {"Transformer", "MLMTransformer"}:
        raise Refused(f"there is no module of the kind {module.kind}")

    import transformers
    from transformers.models.auto import modeling_auto

    settings, config_class = module.settings, transformers.CONFIG_MAPPING[module.family]
    task = "fill-mask" if module.kind == "MLMTransformer" else "feature-extraction"
    if settings.get("transformer_task", task) == "fill-mask":
        model_class = modeling_auto.MODEL_FOR_MASKED_LM_MAPPING[config_class]
    elif encoder := ENCODERS.get(module.family):
        model_class = getattr(transformers, encoder)
    else:
        model_class = modeling_auto.MODEL_MAPPING[config_class]
    if isinstance(model_class, (list, tuple)):
        model_class = model_class[0]
    given = {**settings.get("model_args", {}), **settings.get("model_kwargs", {})}
    options = {key: given[key] for key in ("add_pooling_layer",) if key in given}
    return {"auto_model": model_class(config_class(**config, attn_implementation="eager"), **options)}


# the project's own code


def _run_project(request: Request) -> nn.Module:
    """Run the project's function or command until it returns the model or hands it to ``check_model``."""
    import torch

    made = run_with_stand_ins(partial(_run_until_handed, request), partial(_is_in, request.root))
    if isinstance(made, torch.nn.Module):
        return made
    if request.command:
        ended = f'{request.factory} ended without check_model(model, "{request.declared or "NAME"}")'
        raise Refused("; ".join((ended, *describe_stand_ins())), CALL_IT)
    raise Refused(f"{request.factory} returned {made!r:.80}", "return a torch.nn.Module")


def _run_until_handed(request: Request) -> Any:
    """Return the argument of ``check_model``, or the function's return value."""
    HANDED.clear()
    run: Any = _run_command if request.command else _call_factory
    try:
        returned = run(request)
    except HandedOver:
        return HANDED[-1][1]
    except BaseException:
        if not HANDED:
            raise
    if HANDED:
        raise Refused("this code caught the exception with which check_model ends the code", "catch Exception alone")
    return returned


# runs the shell script ``$0`` up to its first Python command, and prints the folder, words and environment of that
FIRST_PYTHON = r"""
exec 3>&1 >&2
python() { { printf '%s\0' "$PWD" "$#" "$@"; env -0; printf '\0'; } >&3; exit; }
python3() { python "$@"; }
nohup() { "$@"; }
accelerate() { exit; }
deepspeed() { exit; }
torchrun() { exit; }
. "$0"
"""


def _follow_shell(request: Request) -> Request:
    """Return the request to run the first Python command of a shell script; enter its folder and environment."""
    script, *words = request.command
    line = ["bash", "-c", FIRST_PYTHON, os.path.join(request.root, script), *words]  # noqa: PTH118
    printed = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False).stdout  # noqa: S603
    folder, *words = printed.decode().split("\0")
    end = 1 + int(words[0]) if words else 0
    command = words[2:end] if words[1:2] == ["-u"] else words[1:end]
    if not command or not (command[0] == "-m" or command[0].endswith(".py")):
        raise Refused(f"{script} runs no Python script", "write a function that makes the model")
    os.environ.update(takewhile(any, (each.partition("=")[::2] for each in words[end:])))
    os.chdir(folder)
    return request._replace(root=folder, command=tuple(command))


def _run_command(request: Request) -> None:
    """Run a script or a module as Python does, with its arguments."""
    if request.command[0].endswith(".sh"):
        request = _follow_shell(request)
    first, *words = request.command
    if first == "-m":
        sys.path[:0] = (request.root, *request.paths)
        sys.argv = words
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        return
    file = os.path.join(request.root, first)  # noqa: PTH118
    sys.path[:0] = (os.path.dirname(file), *request.paths)  # noqa: PTH120
    sys.path.append(request.root)  # many a script is run with PYTHONPATH=.
    sys.argv = [first, *words]
    runpy.run_path(file, run_name="__main__")


def _call_factory(request: Request) -> Any:
    """Call the project's function, with the keyword arguments of the table and, if it takes one, with the config.

    The config is a dict; for a class of transformers' models, it is an object of its config's class.
    """
    function: Any = _find_factory(request)
    kwargs = copy.deepcopy(dict(request.kwargs))
    arguments: list[Any] = [copy.deepcopy(vary(request.config, request.varied))] if request.config_given else []
    with contextlib.suppress(ValueError):  # a class of C has no signature
        signature = inspect.signature(function)
        free = (each for name, each in signature.parameters.items() if name not in kwargs)
        if all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in free):
            arguments = []
        try:
            signature.bind(*arguments, **kwargs)
        except TypeError as error:
            given = ["one argument (the config as a dict)"] if arguments else []
            given += [f"kwargs = {{ {', '.join(kwargs)} }}"] if kwargs else []
            is_called = f"is called with {' and '.join(given) or 'no argument'}: {error}"
            fix = "write kwargs, or a function of the project that calls it with its arguments"
            raise Refused(f"{request.factory}{signature} {is_called}", fix, "arguments") from None
    is_model_class = inspect.isclass(function) and issubclass(function, listing.find_library_base())
    if is_model_class:
        arguments = [function.config_class.from_dict(each) for each in arguments]
    return function(*arguments, **kwargs)


def _find_factory(request: Request) -> Any:
    library, _, path = request.factory.partition(":")
    module = _import_module(library, request)
    try:
        return attrgetter(path)(module)
    except AttributeError:
        file = getattr(sys.modules[library], "__file__", None)
        where = f" ({os.path.relpath(file, request.root)})" if file else ""
        raise Refused(f"the module {library}{where} has no {path}", "correct the name") from None


def _import_module(library: str, request: Request) -> Any:
    """Import a module of the project, from the project's root or another of its folders."""
    sys.path[:0] = (request.root, *request.paths)
    first = library.partition(".")[0]
    return run_with_stand_ins(
        lambda: importlib.import_module(library),
        lambda name: name.partition(".")[0] == first or _is_in(request.root, name),
    )


def _is_in(root: str, name: str) -> bool:
    """Return whether the project has a module: in its root, on ``sys.path``, or beside the file that imports it."""
    first, own = name.partition(".")[0], f"{os.path.abspath(root)}/"  # noqa: PTH100
    frames = traceback.walk_tb(sys.exc_info()[2])  # of the import that failed
    beside = [os.path.dirname(frame.f_code.co_filename) for frame, _ in frames]  # noqa: PTH120
    folders = {root, *(os.path.abspath(each or root) for each in (*sys.path, *beside))}  # noqa: PTH100
    files = (f"{each}/{first}{end}" for each in folders if f"{each}/".startswith(own) for end in ("", ".py"))
    return any(map(os.path.exists, files))
