"""List a module's parameters, ties and buffers; refuse a module whose list would be wrong."""

from __future__ import annotations

import contextlib
import dis
import gc
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from types import CodeType, CoroutineType, FrameType, FunctionType, GeneratorType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.child.stand_ins import StandIn
from pytest_bertsize.builder.confined import Refused
from pytest_bertsize.builder.messages import Buffer, Built, Finished, Hidden, Untied
from pytest_bertsize.inventory import Tensor, pattern

if TYPE_CHECKING:
    from torch import nn

Ties = dict[str, str]  # each tied name and its source
Named = tuple[str, Any]
Modules = Mapping[str, Any]  # by path, each before its inner modules; the path of the model itself is ""
WRAPPERS = frozenset({"torch", "deepspeed"})  # libraries that wrap a model
WRAPPED = frozenset({"_orig_mod", "_checkpoint_wrapped_module", "module"})  # a wrapper's child


def find_library_base() -> Any:
    """Return the base class of transformers' models, ``()`` for :func:`isinstance` without transformers."""
    return getattr(sys.modules.get("transformers"), "PreTrainedModel", ())


def take_inventory(model: nn.Module, *, own: bool = False, in_hand: bool = False, ties: Ties | None = None) -> Built:
    """List a model by torch's own dicts, because a class may override ``named_parameters`` and leave some out.

    :param own: whether code of the project built the model; ``in_hand``: whether that code is training it.
    """
    is_foreign = own or in_hand
    modules = dict(walk_modules(model, wrapped=is_foreign))
    parameters = dict(walk_tensors(modules, "_parameters"))
    buffers = tuple(_list_buffers(modules))
    _refuse_uncountable(parameters)
    if is_foreign:
        _refuse_packed(buffers, sum({id(each): each.numel() for each in parameters.values()}.values()))
    is_whole = not any(map(is_distributed, parameters.values()))  # else the hooks of torch hold shards
    hidden = tuple(_list_hidden(modules)) if is_foreign and is_whole else ()
    if not any(parameter.numel() for parameter in parameters.values()):
        raise Refused("it has no parameters")
    declared = declared_ties(modules) if ties is None else ties
    sources = {*declared.values()} - {*declared}
    tied: Ties = {}
    for names in group_names(parameters):
        owner = next((each for each in names if each in sources), names[0])
        tied |= {name: owner for name in names if name != owner}
    tensors = tuple(
        Tensor(name, (*map(int, each.shape),), "", bool(each.requires_grad), tied.get(name))
        for name, each in parameters.items()
    )
    finished = tuple(_list_finished(modules)) if is_foreign else ()
    versions = {each: str(getattr(sys.modules.get(each), "__version__", "")) for each in ("transformers", "torch")}
    built = Built(tensors, declared, buffers, finished=finished, hidden=hidden, **versions)  # type: ignore[arg-type]
    if not own:
        return built
    of_torch = ((path, type(each)) for path, each in modules.items() if path)
    return built._replace(
        declared_ties={**tied, **declared},  # a module of the project declares nothing: its ties are those it has
        kinds={path: kind.__name__ for path, kind in of_torch if kind.__module__.startswith("torch.nn.modules.")},
        untied=tuple(_find_untied(modules, parameters)),
    )


def walk_modules(module: nn.Module, path: str = "", *, wrapped: bool) -> Iterator[Named]:
    """Yield every module by each of its names, if it may be ``wrapped`` without wrappers and their names."""
    module = unwrap(module) if wrapped else module
    if "_fsdp_wrapped_module" in module._modules:  # noqa: SLF001
        raise Refused(f"{path or 'the model'} is sharded by FSDP: its shapes here are a shard's", UNWRAPPED)
    yield path, module
    for name, inner in module._modules.items():  # noqa: SLF001
        if inner is not None:
            yield from walk_modules(inner, join_path(path, name), wrapped=wrapped)


def unwrap(module: nn.Module) -> nn.Module:
    """Return the module inside wrappers: modules of a library in :data:`WRAPPERS` with one child and no parameters."""
    inner, own = module._modules, module._parameters  # noqa: SLF001
    is_wrapper = type(module).__module__.partition(".")[0] in WRAPPERS and WRAPPED.issuperset(inner)
    return unwrap(*inner.values()) if is_wrapper and len(inner) == 1 and not own else module


def walk_tensors(modules: Modules, held: str) -> Iterator[Named]:
    """Yield the tensors in ``_parameters`` or ``_buffers`` of modules, by each of their names."""
    for path, module in modules.items():
        for name, tensor in getattr(module, held).items():
            if tensor is not None:
                yield join_path(path, name), tensor


def _list_buffers(modules: Modules) -> Iterator[Buffer]:
    seen: set[int] = set()
    for name, tensor in walk_tensors(modules, "_buffers"):
        path, _, last = name.rpartition(".")
        numbers = 0 if id(tensor) in seen else tensor.numel()
        seen.add(id(tensor))
        is_saved = last not in modules[path]._non_persistent_buffers_set  # noqa: SLF001
        yield Buffer(name, numbers, _name_dtype(tensor), numbers * tensor.element_size(), is_saved)


def _name_dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# configs of finished models

NAMES_OF_LABELS = ("id2label", "label2id")
ADAPTED = r"^base_model\.model(?:\.|$)"  # where PEFT has the model that it adapts


def _list_finished(modules: Modules) -> Iterator[Finished]:
    """Yield the outermost models of transformers in a module, with their configs as they are now, after any resize."""
    base = find_library_base()
    inside: tuple[str, ...] = ()
    adapted = ADAPTED if type(modules[""]).__module__.startswith("peft.") else ""
    for path, module in modules.items():
        if not isinstance(module, base) or f"{path}.".startswith(inside):
            continue
        kind: Any = type(module)
        if kind.__module__.startswith("transformers."):
            inside = (*inside, join_path(path, ""))
        with contextlib.suppress(Exception):  # of a config class of the project's own
            config: Any = module.config
            of_library = next(each for each in kind.__mro__ if each.__module__.startswith("transformers."))
            family = str(getattr(of_library.config_class, "model_type", config.model_type))  # a config may name another
            said = {**config.to_dict(), "num_labels": config.num_labels, "model_type": family}
            plain = {str(key): to_json(value) for key, value in said.items() if key not in NAMES_OF_LABELS}
            known = {key: value for key, value in plain.items() if value is not ODD}
            yield Finished(re.sub(adapted, "", path), of_library.__name__, family, known)


ODD: Any = object()


def to_json(value: object) -> Any:
    """Return a value as JSON has it, :data:`ODD` for any that JSON has not."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return ODD


# ties

INNER = ("base_layer", "original_module")  # PEFT's names of the module that it replaced
COPIED = "modules_to_save"  # PEFT's name for the copies of a module


def group_names(tensors: Mapping[str, Any]) -> list[list[str]]:
    """Return the names of each tensor; on meta, only a tensor's identity tells it from others."""
    found: dict[int, list[str]] = {}
    for name, tensor in tensors.items():
        found.setdefault(id(tensor), []).append(name)
    return [*found.values()]


def declared_ties(modules: Modules) -> Ties:
    """Return the ties that the model's class declares; if it declares none, those of its inner modules' classes."""
    if (ties := getattr(modules[""], "all_tied_weights_keys", None)) is not None:
        return dict(ties)
    found: Ties = {}
    for path, module in modules.items():
        ties = getattr(module, "all_tied_weights_keys", None)
        if isinstance(ties, dict):
            found |= {join_path(path, name): join_path(path, source) for name, source in ties.items()}
    return found or _match_listed(modules)


def _match_listed(modules: Modules) -> Ties:
    """Return the ties that classes of transformers 4 declare: a list of patterns of tied names, without their sources.

    If the config ties the embeddings, a listed name that shares no tensor is a lost tie: it is returned with the word
    embeddings as its source. If these are listed themselves, as in Marian, only the output is returned in this way.
    """
    parameters = dict(walk_tensors(modules, "_parameters"))
    named = {name: names for names in group_names(parameters) for name in names}
    listed: set[str] = set()
    sources: set[str] = set()
    lost: Ties = {}
    for path, module in modules.items():
        if not isinstance(getattr(module, "_tied_weights_keys", None), list):
            continue
        exact = getattr(module, "_dynamic_tied_weights_keys", None) or ()  # of tie_encoder_decoder, which lists names
        tied = re.compile("|".join((*module._tied_weights_keys, *map(re.escape, exact))) or r"(?!)")  # noqa: SLF001
        prefix = join_path(path, "")
        inside = {name for name in named if name.startswith(prefix) and tied.search(name[len(prefix) :])}
        listed |= inside
        gets = (getattr(module, f"get_{whose}_embeddings", lambda: None) for whose in ("input", "output"))
        words, output = (_find_name(get(), parameters) for get in gets)
        if words and getattr(getattr(module, "config", None), "tie_word_embeddings", True):
            sources.add(words)
            alone = {name for name in inside if len(named[name]) == 1}
            lost |= dict.fromkeys(alone & {output} if words in inside else alone | ({output} & inside), words)
    found: Ties = {}
    for names in group_names(parameters):
        free = [name for name in names if name not in listed]
        owner = next(iter([*(name for name in names if name in sources), *free, *names]))
        declared = names if len(free) <= 1 else listed.intersection(names)  # save_pretrained keeps one that is free
        found |= {name: owner for name in declared if name != owner}
    return {**found, **{name: words for name, words in lost.items() if words not in named[name]}}


def name_ties(adapted: nn.Module, model: nn.Module, declared: Ties) -> Ties:
    """Return the ties of a model with PEFT's adapter: those that ``model`` declares, and those that PEFT makes."""
    modules = dict(walk_modules(adapted, wrapped=True))
    parameters = dict(walk_tensors(modules, "_parameters"))
    prefix = join_path(next(path for path, module in modules.items() if module is model), "")
    now: Ties = {}  # the name before the adapter, and the one with it; copies have ties of their own
    for name in parameters:
        path = name.removeprefix(prefix).split(".")
        if COPIED not in path:
            now[".".join(part for part in path if part not in INNER)] = name
    ties = {now.get(name, prefix + name): now.get(source, prefix + source) for name, source in declared.items()}
    shared = {name: names[0] for names in group_names(parameters) for name in names[1:]}
    return {**{name: owner for name, owner in shared.items() if name not in ties}, **ties}


def _find_name(held: Any, parameters: Mapping[str, Any]) -> str:
    """Return the name of a module's weight, even if PEFT has replaced the module; ``""`` if it has none."""
    while wrapped := next((each for key in INNER if (each := getattr(held, key, None)) is not None), None):
        held = wrapped
    weight = getattr(held, "weight", None)
    return next((name for name, each in parameters.items() if each is weight), "")


def _find_untied(modules: Modules, parameters: Mapping[str, Any]) -> Iterator[Untied]:
    """Yield ties by ``get_output_embeddings`` of the project's classes, which transformers 4 makes and 5 may not."""
    base = find_library_base()
    for module in modules.values():
        own = next((each for each in type(module).__mro__ if "get_output_embeddings" in vars(each)), object)
        if not isinstance(module, base) or not _is_own(own) or not getattr(module.config, "tie_word_embeddings", True):
            continue
        ends = module.get_output_embeddings(), module.get_input_embeddings()
        output, words = (_find_name(each, parameters) for each in ends)
        if output and words and parameters[output] is not parameters[words]:
            yield Untied(output, words, f"{own.__name__}.get_output_embeddings")


# refusals of parameters that the list would count wrongly

PACKED = "_x2"  # the end of the name of a dtype with two numbers in each element: ``float4_e2m1fn_x2``
INTEGER = re.compile("q?u?int(?!64)")  # dtypes that weights are packed in; int64 is for indices
BEFORE = "build the model before it is quantised"
UNWRAPPED = "call check_model before the model is wrapped, or build it without sharding"


def _refuse_uncountable(parameters: Mapping[str, Any]) -> None:
    from torch.nn import Parameter

    for name, each in parameters.items():
        if hasattr(each, "ds_id"):
            raise Refused(f"{name} is partitioned by DeepSpeed ZeRO-3: its shape here is not the full one", UNWRAPPED)
        if type(each) is not Parameter and not is_distributed(each):
            what = f"{name} is a {type(each).__name__}, whose shape does not count its parameters"
            raise Refused(what, f"{BEFORE}, and give a lazy module its sizes")
        dtype = _name_dtype(each)
        if not (each.is_floating_point() or each.is_complex()) or dtype.endswith(PACKED):
            raise Refused(f"{name} has dtype {dtype}, which may pack several numbers in one", BEFORE)


def is_distributed(tensor: Any) -> bool:
    """Return whether a tensor is a shard whose ``shape`` is that of the whole tensor."""
    found = sys.modules.get("torch.distributed.tensor")
    return found is not None and isinstance(tensor, found.DTensor)


def _refuse_packed(buffers: Iterable[Buffer], parameters: int) -> None:
    """Refuse integer buffers with over 1 % as many elements as the parameters: they may be weights that GPTQ packed."""
    packed = [each for each in buffers if each.saved and (each.dtype.endswith(PACKED) or INTEGER.match(each.dtype))]
    if 100 * sum(each.numbers for each in packed) > parameters:
        largest = max(packed, key=lambda each: each.numbers)
        holds = f"{largest.name} is a buffer of {largest.numbers:,} numbers of {largest.dtype}"
        fix = f"{BEFORE} (or make a mask torch.bool, an index torch.int64, or write persistent=False)"
        raise Refused(f"{holds}, which may pack several in one", fix)


# parameters that torch does not see: no optimiser trains them, and no list has them

MOST_LOOKED_AT = 500_000  # objects that can hold others, in all modules: a second
OF_TORCH = frozenset({"_modules", "_parameters", "_buffers"})
# Python's own modules, whose objects are not searched; Python 3.9 lists only the built-in ones
OF_PYTHON: Iterable[str] = getattr(sys, "stdlib_module_names", sys.builtin_module_names)
# libraries whose classes and functions refer to no parameters of a model
LIBRARIES = frozenset({"torch", "transformers", "peft", *OF_PYTHON})
OPAQUE = (ModuleType, CodeType, FrameType, GeneratorType, CoroutineType)


def _list_hidden(modules: Modules) -> Iterator[Hidden]:
    """Search all that the modules refer to: lists, objects, hooks, closures, classes and global names."""
    import torch

    tensors = [each for held in ("_parameters", "_buffers") for _, each in walk_tensors(modules, held)]
    seen = {id(part) for part in (*modules.values(), *tensors)}
    most = len(seen) + MOST_LOOKED_AT
    found: dict[str, tuple[str, Counter[tuple[int, ...]]]] = {}  # class and shapes, by the folded name
    for where, value in _list_attributes(modules):
        kind, shapes = found.setdefault(pattern(where), (type(value).__name__, Counter()))
        waiting = [value]
        while waiting:
            each = waiting.pop()
            if id(each) in seen or not gc.is_tracked(each):  # a number, a text or the like
                continue
            seen.add(id(each))
            if len(seen) > most:
                far = f"the modules hold more than {MOST_LOOKED_AT:,} objects up to {where}, a {kind}"
                raise Refused(f"{far}, and the rest was not searched", "keep data outside of modules")
            if not isinstance(each, torch.Tensor):
                waiting += _look_inside(each)
            elif each.numel() and (isinstance(each, torch.nn.Parameter) or (each.requires_grad and each.is_leaf)):
                shapes[(*each.shape,)] += 1
    for name, (kind, shapes) in found.items():
        if shapes:
            numbers = sum(times * prod(shape) for shape, times in shapes.items())
            said = (f"{times} of {'×'.join(map(str, shape)) or 1}" for shape, times in sorted(shapes.items()))
            yield Hidden(name, kind, numbers, tuple(said))


def _list_attributes(modules: Modules) -> Iterator[Named]:
    """Yield the attributes of modules and of their classes, slots included, but none that torch lists itself."""
    own: dict[type, None] = {}
    for path, module in modules.items():
        where, classes = path or "the model", type(module).__mro__
        own.update(dict.fromkeys(filter(_is_own, classes)))
        if any(each.__module__.partition(".")[0] == "keras" for each in classes):  # with torch as its backend
            raise Refused(f"{where} is a layer of Keras, whose weights torch does not list", "write it in torch")
        if hasattr(module, "_packed_params"):
            raise Refused(f"{where} is quantised: its weights are not parameters", "build it unquantised")
        members = (item for each in classes for item in vars(each).items())
        slots = {name: getattr(module, name, None) for name, each in members if isinstance(each, MemberDescriptorType)}
        for name, value in {**slots, **vars(module)}.items():
            if isinstance(value, StandIn) and value.is_made:
                raise Refused(f"{where} has {name}, made by {value.__name__}, which is not installed")
            if name not in OF_TORCH:
                yield join_path(path, name), value
    for each in own:
        yield from ((f"{name} of the class {each.__name__}", value) for name, value in vars(each).items())


def _look_inside(value: object) -> list[Any]:
    """Return the objects that an object refers to; nothing for objects that all code shares, such as Python modules."""
    if isinstance(value, OPAQUE):
        return []
    if isinstance(value, type):
        return [*vars(value).values(), *value.__bases__] if _is_own(value) else []
    if isinstance(value, FunctionType):
        held = [*(value.__closure__ or ()), value.__defaults__, value.__kwdefaults__, vars(value)]
        return [*held, *_list_globals(value, value.__code__)] if _is_own(value) else held
    return gc.get_referents(value)


def _is_own(code: Any) -> bool:
    """Return whether a class or a function is from none of :data:`LIBRARIES`."""
    return str(code.__module__).partition(".")[0] not in LIBRARIES


def _list_globals(function: FunctionType, code: CodeType) -> Iterator[Any]:
    """Yield the values of the global names that a function and its inner functions use."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield function.__globals__.get(str(instruction.argval))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _list_globals(function, inner)
