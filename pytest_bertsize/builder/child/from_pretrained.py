"""Answer ``from_pretrained`` while code of the project runs: return a config, or a model without trained weights.

A name is looked up in the places and the order that the gate uses: a folder of the project, ``hub`` of the table, this
package's catalogue, the hub cache of the machine. The library's own code makes the config from the file. A model is
made by a call of its class with that config, as the library does before it loads weights.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pytest_bertsize.builder.child.stand_ins import TAKEN, Tokenizer
from pytest_bertsize.builder.confined import Refused, refuse
from pytest_bertsize.builder.messages import OF_DISK, Answered
from pytest_bertsize.builder.published import (
    BY_HUB,
    CONFIG,
    LARGEST,
    MAIN,
    Published,
    find_in,
    find_published,
    is_name,
    is_noted_absent,
    is_without,
    normalize_name,
    suggest_fetching,
)

ANSWERED: dict[str, Answered] = {}  # by name, all that this process was asked for
OF_THE_HUB = (
    *("cache_dir", "force_download", "resume_download", "proxies", "token", "use_auth_token", "local_files_only"),
    *("revision", "trust_remote_code", "subfolder", "mirror", "_from_pipeline", "_from_auto", "_commit_hash"),
)
"""Arguments of ``from_pretrained`` that say where a config is fetched from."""
OF_LOADING = (
    *OF_THE_HUB,
    *("state_dict", "from_tf", "from_flax", "torch_dtype", "dtype", "low_cpu_mem_usage", "device_map", "max_memory"),
    *("offload_folder", "offload_state_dict", "offload_buffers", "variant", "adapter_kwargs", "adapter_name"),
    *("generation_config", "distributed_config", "device_mesh", "tp_plan", "tp_size", "key_mapping", "_fast_init"),
    *("ignore_mismatched_sizes", "use_safetensors", "weights_only", "disable_mmap", "tqdm_class", "fusion_config"),
    *("attn_implementation", "experts_implementation", "use_flash_attention_2", "use_kernels", "kernel_config"),
    *("allow_all_kernels", "code_revision"),
)
"""Arguments of ``PreTrainedModel.from_pretrained`` in transformers 4.40 to 5 that affect the loading of weights."""
PACKED = ("quantization_config", "load_in_4bit", "load_in_8bit", "gguf_file")
"""Arguments of ``from_pretrained`` for quantized weights, which pack several numbers into one element."""
MEAN_RESIZING = 3  # the place of that argument in ``resize_token_embeddings``
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "spm.model")

COPY = "copy its config into the project, and name its folder in place of {!r}"

Hub = Mapping[str, Mapping[str, Any]]  # ``hub`` of a :class:`~pytest_bertsize.builder.messages.Request`
Own = Callable[..., Any]  # the library's own function
Changes = tuple[tuple[str, Any, Any], ...]  # ``varied`` of a request: a key, its value in a config, and another one


@contextlib.contextmanager
def answer_by_name(hub: Hub, varied: Changes = ()) -> Iterator[None]:
    """Answer calls of ``from_pretrained`` and of the hub's functions; do nothing if transformers is not imported.

    :param varied: changes of configs that are read by name, or that a model of transformers is made from.
    """
    if "transformers" not in sys.modules:
        yield
        return
    with contextlib.ExitStack() as stack:
        make_folder = cache(lambda: stack.enter_context(tempfile.TemporaryDirectory(prefix="bertsize-")))
        for owner, name, replacement in _list_replacements(hub, varied, make_folder):
            if hasattr(owner, name):  # which makes a lazy library load it
                stack.enter_context(patch.object(owner, name, replacement))
        yield


def vary(config: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    return {**config, **{key: value for key, was, value in changes if config.get(key) == was}}


def _vary_first(make: Own, changes: Changes) -> Own:
    """Return a constructor that changes the config object itself, which code may read after the model is made."""

    def init(self: Any, config: Any, *arguments: Any, **named: Any) -> None:
        for key, was, value in changes:
            if getattr(config, key, None) == was:
                setattr(config, key, value)
        make(self, config, *arguments, **named)

    return init


def _list_replacements(hub: Hub, varied: Changes, make_folder: Callable[[], str]) -> Iterator[tuple[Any, str, Any]]:
    """Yield each attribute that is replaced: the object that has it, its name, and the replacement.

    :param make_folder: a function that returns the folder for configs that have no file.
    """
    import huggingface_hub
    import huggingface_hub._snapshot_download
    import huggingface_hub.file_download
    from transformers import PretrainedConfig
    from transformers.modeling_utils import PreTrainedModel
    from transformers.models.auto import auto_factory, configuration_auto, modeling_auto, tokenization_auto
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase
    from transformers.utils import hub as of_library

    config_dict, of_models = vars(PretrainedConfig)["get_config_dict"], vars(PreTrainedModel)
    yield PretrainedConfig, "get_config_dict", classmethod(partial(_get_config_dict, hub, varied, config_dict.__func__))
    yield PreTrainedModel, "from_pretrained", classmethod(partial(_make_model, hub))
    yield PreTrainedModel, "resize_token_embeddings", _replace_resize(of_models["resize_token_embeddings"])
    if varied:
        yield PreTrainedModel, "__init__", _vary_first(of_models["__init__"], varied)
    for tokenizers in (PreTrainedTokenizerBase, tokenization_auto.AutoTokenizer):
        own = vars(tokenizers)["from_pretrained"].__func__
        yield tokenizers, "from_pretrained", classmethod(partial(_make_tokenizer, hub, own))
    for module in (auto_factory, configuration_auto, of_library):
        yield module, "resolve_revision", lambda _, revision=None, **__: revision
    yield auto_factory, "cached_file", lambda *_, **__: None  # asked for the hash of a commit only
    yield auto_factory, "find_adapter_config_file", partial(_refuse_adapter, hub)
    base = auto_factory._BaseAutoModelClass  # noqa: SLF001
    for kind in (base, *(each for each in vars(modeling_auto).values() if isinstance(each, type))):
        if issubclass(kind, base) and "from_pretrained" in vars(kind):  # each has a copy of it
            own = vars(kind)["from_pretrained"].__func__
            yield kind, "from_pretrained", classmethod(partial(_make_by_auto, own))
    for module in (huggingface_hub, huggingface_hub.file_download, huggingface_hub._snapshot_download, of_library):  # noqa: SLF001
        yield module, "hf_hub_download", partial(_download, hub, make_folder)
        yield module, "snapshot_download", partial(_download, hub, make_folder)


def list_answers() -> tuple[Answered, ...]:
    return tuple(each._replace(tokens=TAKEN.get(name)) for name, each in ANSWERED.items())


def _note_answer(name: str, origin: str, *, by_hub: bool = False) -> None:
    ANSWERED.setdefault(name, Answered(name, origin, by_hub=by_hub))


# configs


def _name_at(name: str, revision: str | None) -> str:
    """Return the key of ``hub`` for a name at a revision: ``acme/tiny@v2``."""
    return name if revision in {None, "", MAIN} else f"{name}@{revision}"


def _find_published(hub: Hub, name: str, revision: str | None = None) -> Published | None:
    """Find a config by a model's name, in ``hub``, the catalogue or the cache; ``None`` if none has the name."""
    if (mapped := find_in(hub, _name_at(name, revision))) is None:
        return find_published(name, revision or MAIN) if is_name(name) else None
    said = hub[mapped]
    if "error" in said:
        raise Refused(f"from_pretrained({mapped!r}): {said['error']}")
    origin = f"{said['file']}, {BY_HUB}"
    return Published(mapped, json.dumps(said["config"]).encode(), origin, Path(said["folder"]), by_hub=True)


def _get_published(hub: Hub, name: str, arguments: Mapping[str, Any]) -> Published:
    """Find a model's config by the model's name, as :func:`_find_published` does, and note the answer."""
    revision = arguments.get("revision")
    at = "" if _name_at(name, revision) == name else f", revision={revision!r}"
    asked = f"from_pretrained({name!r}{at})"
    if not is_name(name) and find_in(hub, _name_at(name, revision)) is None:
        raise _explain_lack(asked, name)
    if arguments.get("subfolder"):
        refuse(Refused(f"from_pretrained({name!r}, subfolder=…) asks for a folder on the hub", COPY.format(name)))
    if (found := _find_published(hub, name, revision)) is None:
        if os.path.isdir(name.partition("/")[0]):  # noqa: PTH112  (a name, as the library takes it)
            raise _explain_lack(asked, name)
        places = f"neither hub in [tool.bertsize], nor {'' if at else 'the catalogue, nor '}the hub cache"
        fetching = suggest_fetching(name, revision if at else None).sentence
        fix = f"{fetching}, with each other name that the code asks for"
        refuse(Refused(f"{places} has the config of {asked}", fix))
    _note_answer(_name_at(name, revision), found.origin, by_hub=found.by_hub)
    return found


def _explain_lack(asked: str, name: str) -> Refused:
    copied = f'name a committed copy: hub = {{ {json.dumps(name)} = "configs/config.json" }} in [tool.bertsize]'
    fix = f"write the path of a folder with a {CONFIG}, from the project's root, or a name of the hub, or {copied}"
    return Refused(f"{asked} names no file or folder that exists", fix)


def _get_config_dict(
    hub: Hub, varied: Changes, own: Own, cls: Any, /, pretrained_model_name_or_path: Any, **arguments: Any
) -> Any:
    name = os.fspath(pretrained_model_name_or_path)
    arguments.pop("attn_implementation", None)  # its library may not be installed here
    if os.path.exists(name):  # noqa: PTH110  (a name, as the library takes it)
        found, rest = own(cls, name, **arguments)
        _note_answer(name, OF_DISK[not os.path.isdir(name)])  # noqa: PTH112
    else:
        found = _parse_config(_get_published(hub, name, arguments))
        rest = {key: value for key, value in arguments.items() if key not in OF_THE_HUB}
    if found.get("quantization_config"):
        raise Refused(f"the config of {name!r} packs the weights (quantization_config)", COPY.format(name))
    return vary(found, varied), rest


def _parse_config(published: Published) -> dict[str, Any]:
    try:
        found = json.loads(published.config) if len(published.config) <= LARGEST else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        unreadable = f"{published.origin} has no config of {published.name} that can be read"
        raise Refused(unreadable, suggest_fetching(published.name).sentence)
    return found


# models


def _make_by_auto(own: Own, cls: Any, /, name: Any, *arguments: Any, **named: Any) -> Any:
    """Call ``own``, but refuse a ``config`` that is no config object, because an ``AutoModel`` would ignore it."""
    from transformers import PretrainedConfig

    given = named.get("config")
    if given is not None and not isinstance(given, PretrainedConfig):
        _refuse_config(name, given)
    return own(cls, name, *arguments, **named)


def _refuse_config(name: Any, given: object) -> None:
    said, keys = ("{…}", f"{name!r}, **{{…}}") if isinstance(given, dict) else (repr(given), repr(given))
    kind = type(given).__name__
    passed_over = f"from_pretrained({name!r}, config={said}) is given a {kind}, which transformers does not read"
    refuse(Refused(passed_over, f"write config=AutoConfig.from_pretrained({keys})"))


def _make_model(
    hub: Hub, cls: Any, /, pretrained_model_name_or_path: Any, *arguments: Any, config: Any = None, **named: Any
) -> Any:
    """Make a model as ``PreTrainedModel.from_pretrained`` does, without loading weights."""
    from transformers import PretrainedConfig

    name = None if pretrained_model_name_or_path is None else os.fspath(pretrained_model_name_or_path)
    if packed := next((key for key in PACKED if named.pop(key, None)), None):
        packs = f"from_pretrained({name!r}, {packed}=…) packs weights, and no weights are loaded here"
        raise Refused(packs, f"leave {packed} out")
    of_adapter = {**named, **(named.get("adapter_kwargs") or {})}
    _refuse_adapter(hub, name, **{key: of_adapter[key] for key in ("revision", "subfolder") if key in of_adapter})
    if isinstance(config, dict):
        _refuse_config(name, config)
    wants_info = named.pop("output_loading_info", False)
    of_hub = {key: named[key] for key in OF_THE_HUB if key in named}
    rest = {key: value for key, value in named.items() if key not in OF_LOADING}
    if isinstance(config, PretrainedConfig):
        config = copy.deepcopy(config)
        _note_answer(_name_at(str(name), named.get("revision")), "the config that it is given")
    else:
        asked = name if config is None else config
        config, rest = cls.config_class.from_pretrained(asked, return_unused_kwargs=True, **of_hub, **rest)
        rest = {key: value for key, value in rest.items() if key not in OF_THE_HUB}
    config.name_or_path = name
    model = cls(config, *arguments, **rest)
    model.tie_weights()
    model.eval()
    info = ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs")
    return (model, {key: [] for key in info}) if wants_info else model


def _replace_resize(own: Own) -> Own:
    """Return a ``resize_token_embeddings`` that never computes the mean of the old rows, which have no values."""
    has_mean = "mean_resizing" in inspect.signature(own).parameters

    def resize_token_embeddings(self: Any, *arguments: Any, **named: Any) -> Any:
        if has_mean and len(arguments) < MEAN_RESIZING:
            named["mean_resizing"] = False
        return own(self, *arguments, **named)

    return resize_token_embeddings


def _refuse_adapter(hub: Hub, name: Any, revision: str | None = None, subfolder: str = "", **_: Any) -> None:
    """Refuse a name whose folder has the config of an adapter: with PEFT, the library would add the adapter."""
    folder = _find_folder(hub, name, revision) if name is not None else None
    path = folder / (subfolder or "") / "adapter_config.json" if folder else None
    if path is not None and path.is_file():
        said = os.path.relpath(path) if path.is_absolute() else path
        fix = f'let the factory make the base model, and write adapter = "{said}" in the model\'s table'
        refuse(Refused(f"{os.fspath(name)!r} holds an adapter, which from_pretrained would add", fix))


def _find_folder(hub: Hub, name: Any, revision: str | None = None) -> Path | None:
    """Return the folder with the files of a model; a ``name`` that is an existing path is returned as it is."""
    if os.path.exists(name):  # noqa: PTH110  (a name, as the library takes it)
        return Path(name)
    return found.folder if (found := _find_published(hub, os.fspath(name), revision)) else None


# tokenizers, and files


def _make_tokenizer(
    hub: Hub, own: Own, cls: Any, /, pretrained_model_name_or_path: Any, *arguments: Any, **named: Any
) -> Any:
    name, subfolder = os.fspath(pretrained_model_name_or_path), named.pop("subfolder", None) or ""
    folder = _find_folder(hub, name, named.get("revision"))
    here = folder / subfolder if folder else None
    if here is not None and (here.is_file() or any((here / each).is_file() for each in TOKENIZERS)):
        return own(cls, os.fspath(here), *arguments, **named)
    if here is not None and os.path.exists(name):  # noqa: PTH110
        path = here / CONFIG
        if not path.is_file():
            lacks = f"the folder {os.fspath(here)!r} holds no tokenizer and no {CONFIG}"
            raise Refused(lacks, "write one of them into it")
        with path.open("rb") as stream:
            published = Published(name, stream.read(LARGEST + 1), f"the folder {name}")
        _note_answer(name, OF_DISK[0])
    else:
        published = _get_published(hub, name, {**named, "subfolder": subfolder})
    given = {**named, "vocab": arguments or named.get("vocab")}
    return Tokenizer(_name_at(name, named.get("revision")), _parse_config(published), given)


def _download(hub: Hub, make_folder: Callable[[], str], repo_id: str, filename: str = "", *_: Any, **named: Any) -> str:
    """Return the local path of a repository's file or folder, as the hub's download functions do, but download nothing.

    If only the config is known, as for a model in the catalogue, the config is first written to a new folder.
    """
    subfolder = named.pop("subfolder", None) or ""
    found = _find_published(hub, repo_id, named.get("revision"))
    folder = found.folder if found else None
    path = folder / subfolder / filename if folder else None
    if path is not None and ".." not in path.parts and path.exists():
        return str(path)
    is_config = filename == CONFIG or (not filename and "/" not in normalize_name(repo_id))
    if folder is None and is_config and not subfolder:
        published = _get_published(hub, repo_id, named)
        written = Path(make_folder(), normalize_name(published.name))
        written.mkdir(parents=True, exist_ok=True)
        (written / CONFIG).write_bytes(published.config)
        return str(written / filename)
    if is_without(repo_id, filename) or (found and is_noted_absent(found, filename)):
        raise Refused(f"{repo_id!r} has no {filename}")
    fix = f"put the file into the folder of the config that hub names for {repo_id!r}"
    refused = Refused(f"it asked the hub for {filename or 'everything'} of {repo_id!r}", fix)
    if path is None or filename == "modules.json":  # without it sentence-transformers goes on, and counts less
        refuse(refused)
    raise refused
