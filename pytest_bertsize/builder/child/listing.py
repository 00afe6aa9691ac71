"""List a module's parameters, ties and buffers; refuse a module whose list would be wrong."""

from __future__ import annotations

import contextlib
import dis
import gc
import math
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import CodeType, CoroutineType, FrameType, FunctionType, GeneratorType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from pytest_bertsize.builder.child.stand_ins import Result
from pytest_bertsize.builder.confined import Refused
from pytest_bertsize.builder.messages import Buffer, Built, Finished, Hidden, Untied
from pytest_bertsize.inventory import Tensor, pattern

if TYPE_CHECKING:
    from torch import nn

Ties = dict[str, str]  # each tied name and its source
Named = tuple[str, Any]
PACKED = "_x2"  # the end of the name of a dtype with two numbers in each element: ``float4_e2m1fn_x2``
INTEGER = re.compile("q?u?int(?!64)")  # dtypes that weights are packed in; int64 is for indices
PACKED_SHARE = 100
WRAPPERS = frozenset({"torch", "deepspeed"})  # libraries that wrap a model
WRAPPED = ("_orig_mod", "_checkpoint_wrapped_module")  # the child in wrappers of torch.compile and of checkpointing
PARALLEL = frozenset({"DataParallel", "DistributedDataParallel", "DeepSpeedEngine"})
"""Classes of wrappers whose attribute ``module`` is the whole model, in each of several processes."""


def find_library_base() -> Any:
    """Return the base class of transformers' models, ``()`` for :func:`isinstance` without transformers."""
    return getattr(sys.modules.get("transformers"), "PreTrainedModel", ())


def take_inventory(model: nn.Module, *, own: bool = False, in_hand: bool = False, ties: Ties | None = None) -> Built:
    """List every parameter by name, the ties that the class declares, and the buffers.

    Several names of one tensor are found by its identity (on meta, every ``data_ptr`` is 0). The name that the class
    declares as the source of a tie owns the tensor, else the name that was registered first. Modules and tensors are
    read from torch's own dicts, because a class may override ``named_parameters`` and leave some out.

    :param own: whether code of the project built the model; wrappers are then left out of names.
    :param in_hand: whether the model is in training, where any code may have changed it; wrappers are left out too.
    :param ties: the ties that the model's class declares; ``None`` to look for them.
    :raises Refused: for parameters that have no shape to count, or that lie too deep to be found.
    """
    modules = dict(walk_modules(model, wrapped=own or in_hand))
    parameters = dict(walk_tensors(modules, "_parameters"))
    buffers = _list_buffers(modules)
    _refuse_uncountable(parameters)
    if own or in_hand:
        _refuse_packed(buffers, sum({id(each): each.numel() for each in parameters.values()}.values()))
    hidden: tuple[Hidden, ...] = ()
    if (own or in_hand) and not any(map(is_distributed, parameters.values())):  # the hooks of torch hold shards
        hidden = _list_hidden(modules)
    if not any(parameter.numel() for parameter in parameters.values()):
        raise Refused("it has no parameters")
    groups = group_names(parameters.items())
    declared = declared_ties(modules, groups) if ties is None else ties
    sources = {*declared.values()} - {*declared}
    owned = ((next((each for each in names if each in sources), names[0]), names) for names in groups)
    tied = {name: owner for owner, names in owned for name in names if name != owner}
    tensors = tuple(
        Tensor(name, (*map(int, each.shape),), "", bool(each.requires_grad), tied.get(name))
        for name, each in parameters.items()
    )
    finished = tuple(list_finished(modules)) if own or in_hand else ()
    transformers, torch = (str(getattr(sys.modules.get(each), "__version__", "")) for each in ("transformers", "torch"))
    built = Built(tensors, declared, buffers, finished=finished, transformers=transformers, torch=torch, hidden=hidden)
    if not own:
        return built
    # a module of the project declares nothing: its ties are the tensors with several names
    declared = {**{each.name: each.tied_to for each in tensors if each.tied_to}, **declared}
    of_torch = {path: each for path, each in modules.items() if type(each).__module__.startswith("torch.nn.modules.")}
    kinds = {path: type(each).__name__ for path, each in of_torch.items() if path}
    untied = tuple(_find_untied(modules, parameters, in_hand=in_hand))
    return built._replace(declared_ties=declared, kinds=kinds, untied=untied)


def walk_modules(
    module: nn.Module, path: str = "", above: tuple[nn.Module, ...] = (), *, wrapped: bool = False
) -> Iterator[Named]:
    """Yield every module by each of its names, even if a class overrides torch's ``named_modules``.

    :param wrapped: whether wrappers and their names are left out.
    """
    if any(module is each for each in above):
        raise Refused(f"{path} is a module that contains itself")
    module = unwrap(module) if wrapped else module
    if "_fsdp_wrapped_module" in module._modules:  # noqa: SLF001
        raise Refused(f"{path or 'the model'} is sharded by FSDP: its shapes here are a shard's", UNWRAPPED)
    yield path, module
    for name, inner in module._modules.items():  # noqa: SLF001
        if inner is not None:
            yield from walk_modules(inner, join_path(path, name), (*above, module), wrapped=wrapped)


def unwrap(module: nn.Module) -> nn.Module:
    """Return the module inside wrappers, which add no parameters."""
    while (inner := _find_wrapped(module)) is not None:
        module = inner
    return module


def _find_wrapped(module: nn.Module) -> nn.Module | None:
    """Return the only child of a wrapper from a library in :data:`WRAPPERS`; ``None`` for any other module."""
    library, inner = type(module).__module__.partition(".")[0], module._modules  # noqa: SLF001
    if library not in WRAPPERS or len(inner) != 1 or module._parameters:  # noqa: SLF001
        return None
    is_parallel = any(each.__name__ in PARALLEL for each in type(module).__mro__)
    return next((inner[name] for name in (*WRAPPED, *(["module"] if is_parallel else [])) if name in inner), None)


def walk_tensors(modules: Mapping[str, nn.Module], held: str) -> Iterator[Named]:
    """Yield the tensors in ``_parameters`` or ``_buffers`` of modules, by each of their names."""
    for path, module in modules.items():
        for name, tensor in getattr(module, held).items():
            if tensor is not None:
                yield join_path(path, name), tensor


def _list_buffers(modules: Mapping[str, nn.Module]) -> tuple[Buffer, ...]:
    found: list[Buffer] = []
    seen: set[int] = set()
    for name, tensor in walk_tensors(modules, "_buffers"):
        path, _, last = name.rpartition(".")
        numbers = 0 if id(tensor) in seen else tensor.numel()
        seen.add(id(tensor))
        is_saved = last not in modules[path]._non_persistent_buffers_set  # noqa: SLF001
        dtype = str(tensor.dtype).removeprefix("torch.")
        found.append(Buffer(name, numbers, dtype, numbers * tensor.element_size(), is_saved))
    return tuple(found)


def join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# configs of finished models

MOST_NESTED = 4  # objects in objects of a config
LONGEST = 1_000  # characters of a text, entries of a list
LARGEST_NUMBER = 64  # bits
NAMES_OF_LABELS = ("id2label", "label2id")
ADAPTED = r"^base_model\.model(?:\.|$)"  # where PEFT has the model that it adapts


def list_finished(modules: Mapping[str, nn.Module]) -> Iterator[Finished]:
    """Yield the models of transformers in a module, with their configs as they are now, after any resize.

    A model inside another model of transformers is not yielded; a model inside a class of the project is.

    :param modules: the modules by path, each before its inner modules.
    """
    base = find_library_base()
    inside: tuple[str, ...] = ()
    adapted = ADAPTED if type(modules.get("")).__module__.startswith("peft.") else ""
    for path, module in modules.items():
        if not isinstance(module, base) or f"{path}.".startswith(inside):
            continue
        kind: Any = type(module)
        if kind.__module__.startswith("transformers."):
            inside = (*inside, join_path(path, ""))
        with contextlib.suppress(Exception):  # of a config class of the project's own
            config: Any = module.config
            said = {key: value for key, value in config.to_dict().items() if key not in NAMES_OF_LABELS}
            said["num_labels"] = config.num_labels
            of_library = next(each for each in kind.__mro__ if each.__module__.startswith("transformers."))
            yield Finished(re.sub(adapted, "", path), of_library.__name__, str(config.model_type), _keep_plain(said))


def _keep_plain(config: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the entries of a config that are plain values, or lists or dicts of these."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict) and depth < MOST_NESTED:
            found[str(key)] = _keep_plain(value, depth + 1)
        elif isinstance(value, (list, tuple)) and len(value) <= LONGEST and all(map(is_plain, value)):
            found[str(key)] = [*value]
        elif is_plain(value):
            found[str(key)] = value
    return found


def is_plain(value: object, longest: int = LONGEST) -> bool:
    """Return whether a value is ``None``, a finite number of 64 bits or a text of at most ``longest`` characters."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return value.bit_length() <= LARGEST_NUMBER
    return value is None or (isinstance(value, str) and len(value) <= longest)


# ties


def group_names(parameters: Iterable[tuple[str, Any]]) -> list[list[str]]:
    """Return the names of each tensor, in the order in which they are registered."""
    found: dict[int, list[str]] = {}
    for name, parameter in parameters:
        found.setdefault(id(parameter), []).append(name)
    return [*found.values()]


def declared_ties(modules: Mapping[str, nn.Module], groups: Collection[Sequence[str]]) -> Ties:
    """Return the ties that the model's class declares; if it has no declaration, those of its inner modules' classes.

    :param modules: the modules by path; the path of the model itself is ``""``.
    :param groups: the names of each tensor, in the order in which they are registered.
    """
    if (ties := getattr(modules[""], "all_tied_weights_keys", None)) is not None:
        return dict(ties)
    found: Ties = {}
    for path, module in modules.items():
        ties = getattr(module, "all_tied_weights_keys", None)
        if isinstance(ties, dict):
            found |= {join_path(path, name): join_path(path, source) for name, source in ties.items()}
    return found or _match_listed(modules, groups)


def _match_listed(modules: Mapping[str, nn.Module], groups: Collection[Sequence[str]]) -> Ties:
    """Return the ties that classes of transformers 4 declare: a list of patterns of tied names, without their sources.

    A dict replaced the list in https://github.com/huggingface/transformers/pull/42191. ``save_pretrained`` leaves a
    listed name out if it shares a tensor. If the config ties the embeddings, a listed name that shares no tensor is
    returned too, with the word embeddings as its source, so that a lost tie is seen. If the list has the word
    embeddings themselves, as in Marian, only the output embeddings are returned without a shared tensor.
    """
    named = {name: names for names in groups for name in names}
    parameters = dict(walk_tensors(modules, "_parameters"))
    listed: set[str] = set()
    sources: set[str] = set()
    has_to_be: Ties = {}
    for path, module in modules.items():
        if not isinstance(getattr(module, "_tied_weights_keys", None), list):
            continue
        exact = getattr(module, "_dynamic_tied_weights_keys", None) or ()  # of tie_encoder_decoder, which lists names
        patterns = [re.compile(each) for each in (*module._tied_weights_keys, *map(re.escape, exact))]  # noqa: SLF001
        prefix = join_path(path, "")
        inside = {name for name in named if name.startswith(prefix)}
        inside = {name for name in inside if any(each.search(name[len(prefix) :]) for each in patterns)}
        listed |= inside
        gets = (getattr(module, f"get_{whose}_embeddings", lambda: None) for whose in ("input", "output"))
        words, output = (_find_name(get(), parameters) for get in gets)
        if words and getattr(getattr(module, "config", None), "tie_word_embeddings", True):
            alone = {name for name in inside if len(named[name]) == 1}
            tied = alone & {output} if words in inside else alone | ({output} & inside)
            has_to_be |= dict.fromkeys(tied, words)
            sources.add(words)
    found: Ties = {}
    for names in groups:
        free = [name for name in names if name not in listed]
        owner = next(iter([*(name for name in names if name in sources), *free, *names]))
        declared = names if len(free) <= 1 else listed.intersection(names)  # save_pretrained keeps one that is free
        found |= {name: owner for name in declared if name != owner}
    return {**found, **{name: words for name, words in has_to_be.items() if words not in named[name]}}


def _find_name(held: Any, parameters: Mapping[str, Any]) -> str:
    """Return the name of a module's weight, even if PEFT has replaced the module; ``""`` if it has none."""
    while wrapped := next((each for key in INNER if (each := getattr(held, key, None)) is not None), None):
        held = wrapped
    weight = getattr(held, "weight", None)
    return next((name for name, each in parameters.items() if each is weight), "")


def _find_untied(modules: Mapping[str, nn.Module], parameters: Mapping[str, Any], *, in_hand: bool) -> Iterator[Untied]:
    """Yield ties that the project's classes declare, and that the installed release of transformers does not make.

    transformers 4 ties the result of ``get_output_embeddings`` and calls every ``_tie_weights``; in transformers 5,
    ``post_init`` reads a dict.

    :param in_hand: whether the model is in training, so that ``_tie_weights``, which could change it, is not called.
    """
    base = find_library_base()
    is_old = not hasattr(base, "get_expanded_tied_weights_keys")
    begun: tuple[str, ...] = ()  # models whose constructors have reached the line that ties
    for path, module in modules.items() if base else ():
        prefix = join_path(path, "")
        is_model, is_finished = isinstance(module, base), hasattr(module, "all_tied_weights_keys")
        begun = (*begun, prefix) if is_model and is_finished else begun
        of_4, of_5 = not is_old and prefix.startswith(begun), is_old or (is_model and not is_finished)
        for by, find in [*(WAYS_OF_4.items() if of_4 else ()), *(WAYS_OF_5.items() if of_5 else ())]:
            own = next((each for each in type(module).__mro__ if by in vars(each)), object)
            is_run = by == "_tie_weights"
            ties: Any = is_run or (is_model and getattr(module.config, "tie_word_embeddings", True))
            if not _is_own(own) or not ties or (is_run and in_hand):
                continue
            inside = {name[len(prefix) :]: each for name, each in parameters.items() if name.startswith(prefix)}
            for name, source in find(module, inside).items():
                if inside.get(name) is not inside.get(source):
                    yield Untied(path, name, source, f"{own.__name__}.{by}")


def _pair_embeddings(module: Any, inside: Mapping[str, Any]) -> Ties:
    """Pair the names of the output and input embeddings; for a head of the library, also the names of its biases."""
    output = _find_name(module.get_output_embeddings(), inside)
    words = _find_name(module.get_input_embeddings(), inside)
    if not (output and words):
        return {}
    layer = output.rpartition(".")[0]
    head = layer.rpartition(".")[0]
    pair = join_path(layer, "bias"), join_path(head, "bias")  # one in the heads of 4, in 5 where the model's class ties
    is_listed = {*pair} <= {*inside} and not _is_own(type(module.get_submodule(head)))
    return {output: words, **(dict([pair]) if is_listed else {})}


def _try_to_tie(module: Any, _: Mapping[str, Any]) -> Ties:
    """Call ``_tie_weights`` and undo it; return each name whose tensor it replaced, with the new tensor's name."""
    inside = dict(walk_modules(module))
    was = dict(walk_tensors(inside, "_parameters"))
    with contextlib.ExitStack() as undone:
        for each in inside.values():
            undone.enter_context(patch.dict(each._parameters))  # noqa: SLF001
        with contextlib.suppress(Exception):  # transformers 5 does not call this code any more
            module._tie_weights()  # noqa: SLF001
        now = dict(walk_tensors(inside, "_parameters"))
    names = {id(each): name for name, each in was.items()}
    return {name: names[id(each)] for name, each in now.items() if each is not was.get(name) and id(each) in names}


INNER = ("base_layer", "original_module")  # PEFT's names of the module that it replaced
WAYS_OF_4: Mapping[str, Any] = {"get_output_embeddings": _pair_embeddings, "_tie_weights": _try_to_tie}
WAYS_OF_5: Mapping[str, Any] = {
    "_tied_weights_keys": lambda module, _: keys if isinstance(keys := module._tied_weights_keys, dict) else {}  # noqa: SLF001
}
"""Attributes that declare ties for transformers 5 (in ``WAYS_OF_4``: for 4), each with the function that reads it."""


# refusals of parameters that the list would count wrongly


BEFORE = "build the model before it is quantised"
UNWRAPPED = "call check_model before the model is wrapped, or build it without sharding"


def _refuse_uncountable(parameters: Mapping[str, Any]) -> None:
    from torch.nn.parameter import Parameter, UninitializedParameter

    for name, each in parameters.items():
        if isinstance(each, UninitializedParameter):
            lazy = f"{name} is in a lazy module, which has no shapes before its first forward pass"
            raise Refused(lazy, "give it sizes")
        if hasattr(each, "ds_id"):
            raise Refused(f"{name} is partitioned by DeepSpeed ZeRO-3: its shape here is not the full one", UNWRAPPED)
        if type(each) is not Parameter and not is_distributed(each):
            raise Refused(f"{name} is a {type(each).__name__}, whose shape does not count its parameters", BEFORE)
        dtype = str(each.dtype).removeprefix("torch.")
        if not (each.is_floating_point() or each.is_complex()) or dtype.endswith(PACKED):
            raise Refused(f"{name} has dtype {dtype}, which may pack several numbers in one", BEFORE)


def is_distributed(tensor: Any) -> bool:
    """Return whether a tensor is a shard whose ``shape`` is that of the whole tensor."""
    found = sys.modules.get("torch.distributed.tensor")
    return found is not None and isinstance(tensor, found.DTensor)


def _refuse_packed(buffers: Iterable[Buffer], parameters: int) -> None:
    """Refuse integer buffers with over 1 % as many elements as the parameters: they may be weights that GPTQ packed."""
    packed = [each for each in buffers if each.saved and (each.dtype.endswith(PACKED) or INTEGER.match(each.dtype))]
    if PACKED_SHARE * sum(each.numbers for each in packed) > parameters:
        largest = max(packed, key=lambda each: each.numbers)
        more = f"; the model has {len(packed) - 1:,} more like it" if len(packed) > 1 else ""
        holds = f"{largest.name} is a buffer of {largest.numbers:,} numbers of {largest.dtype}"
        fix = f"{BEFORE} (or make a mask torch.bool, an index torch.int64, or write persistent=False)"
        raise Refused(f"{holds}, which may pack several in one{more}", fix)


# parameters that torch does not see: no optimiser trains them, and no list has them

MOST_LOOKED_AT = 500_000  # objects that can hold others, in all modules: a second
OF_TORCH = frozenset({"_modules", "_parameters", "_buffers"})
OF_PYTHON: Iterable[str] = getattr(sys, "stdlib_module_names", sys.builtin_module_names)
"""Names of Python's own modules, whose objects are not searched; Python 3.9 lists only the built-in ones."""
LIBRARIES = frozenset({"torch", "transformers", "peft", *OF_PYTHON})
"""Libraries whose classes and functions refer to no parameters of a model."""
OPAQUE = (ModuleType, CodeType, FrameType, GeneratorType, CoroutineType)


def _list_hidden(modules: Mapping[str, nn.Module]) -> tuple[Hidden, ...]:
    """Search all that the modules refer to: lists, objects, hooks, closures, classes and global names."""
    import torch

    tensors = [each for held in modules.values() for each in (*held._parameters.values(), *held._buffers.values())]  # noqa: SLF001
    seen = {id(part) for part in (*modules.values(), *tensors)}
    most = len(seen) + MOST_LOOKED_AT
    found: dict[str, Hidden] = {}
    for where, value in _list_attributes(modules):
        numbers, waiting = 0, [value]
        while waiting:
            each = waiting.pop()
            if id(each) in seen or not gc.is_tracked(each):  # a number, a text or the like
                continue
            seen.add(id(each))
            if len(seen) > most:
                far = f"the modules hold more than {MOST_LOOKED_AT:,} objects up to {where}, a {type(value).__name__}"
                raise Refused(f"{far}, and the rest was not searched", "keep data outside of modules")
            if not isinstance(each, torch.Tensor):
                waiting += _look_inside(each)
            elif isinstance(each, torch.nn.Parameter) or (each.requires_grad and each.is_leaf):
                numbers += int(each.numel())
        if numbers:
            folded, kind = pattern(where), type(value).__name__
            before = found.get(folded)
            found[folded] = Hidden(folded, kind, before.numbers + numbers) if before else Hidden(where, kind, numbers)
    return tuple(found.values())


def _list_attributes(modules: Mapping[str, nn.Module]) -> Iterator[Named]:
    """Yield the attributes of modules and of their classes, slots included, but none that torch lists itself."""
    for path, module in modules.items():
        where, classes = path or "the model", type(module).__mro__
        if any(each.__module__.partition(".")[0] == "keras" for each in classes):  # with torch as its backend
            raise Refused(f"{where} is a layer of Keras, whose weights torch does not list", "write it in torch")
        if hasattr(module, "_packed_params"):
            raise Refused(f"{where} is quantised: its weights are not parameters", "build it unquantised")
        in_classes = [item for each in classes for item in vars(each).items()]
        slots = {
            name: getattr(module, name, None) for name, each in in_classes if isinstance(each, MemberDescriptorType)
        }
        for name, value in {**slots, **vars(module)}.items():
            if isinstance(value, Result):
                raise Refused(f"{where} has {name}, made by {value.__name__}, which is not installed")
            if name not in OF_TORCH:
                yield join_path(path, name), value
    for each in {each: None for module in modules.values() for each in type(module).__mro__ if _is_own(each)}:
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
