"""Answer ``from_pretrained`` while code of the project runs: return a config, or a model without trained weights.

A name is looked up as the gate does it: a folder of the project, ``hub`` of the table, the catalogue, the hub cache.
The library's own code makes the config from the file; a model is made by a call of its class with that config.
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
from typing import Any, NamedTuple
from unittest.mock import patch

from pytest_bertsize.builder import published
from pytest_bertsize.builder.child.stand_ins import list_kept_in_place
from pytest_bertsize.builder.child.tokenizer import TAKEN, Tokenizer
from pytest_bertsize.builder.confined import Refused, refuse
from pytest_bertsize.builder.messages import OF_DISK, Answered

ANSWERED: dict[str, Answered] = {}  # by name, all that this process was asked for
OF_THE_HUB = (  # arguments of ``from_pretrained`` that say where a config is fetched from
    *("cache_dir", "force_download", "resume_download", "proxies", "token", "use_auth_token", "local_files_only"),
    *("revision", "trust_remote_code", "subfolder", "mirror", "_from_pipeline", "_from_auto", "_commit_hash"),
)
OF_LOADING = (  # its arguments in transformers 4.40 to 5 that affect the loading of weights
    *OF_THE_HUB,
    *("state_dict", "from_tf", "from_flax", "torch_dtype", "dtype", "low_cpu_mem_usage", "device_map", "max_memory"),
    *("offload_folder", "offload_state_dict", "offload_buffers", "variant", "adapter_kwargs", "adapter_name"),
    *("generation_config", "distributed_config", "device_mesh", "tp_plan", "tp_size", "key_mapping", "_fast_init"),
    *("ignore_mismatched_sizes", "use_safetensors", "weights_only", "disable_mmap", "tqdm_class", "fusion_config"),
    *("attn_implementation", "experts_implementation", "use_flash_attention_2", "use_kernels", "kernel_config"),
    *("allow_all_kernels", "code_revision"),
)
PACKED = ("quantization_config", "load_in_4bit", "load_in_8bit", "gguf_file")  # several numbers in one element
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "spm.model")

Own = Callable[..., Any]  # the library's own function
Changes = tuple[tuple[str, Any, Any], ...]  # ``varied`` of a request: a key, its value in a config, and another one


@contextlib.contextmanager
def functions_replaced(hub: Mapping[str, Mapping[str, Any]], varied: Changes = ()) -> Iterator[None]:
    """Answer calls of ``from_pretrained`` and of the hub's functions, by ``hub`` and ``varied`` of a request.

    Meanwhile a model stays where it is built (:func:`~pytest_bertsize.builder.child.stand_ins.list_kept_in_place`).
    """
    with contextlib.ExitStack() as stack:
        make_folder = cache(lambda: stack.enter_context(tempfile.TemporaryDirectory(prefix="bertsize-")))
        of_hub = _list_replacements(_Hub(hub, varied, make_folder)) if "transformers" in sys.modules else ()
        for owner, name, replacement in (*of_hub, *list_kept_in_place()):
            if hasattr(owner, name):  # which makes a lazy library load it
                stack.enter_context(patch.object(owner, name, replacement))
        yield


def list_answers() -> tuple[Answered, ...]:
    return tuple(each._replace(tokens=TAKEN.get(name)) for name, each in ANSWERED.items())


def vary(config: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    return {**config, **{key: value for key, was, value in changes if config.get(key) == was}}


def _list_replacements(hub: _Hub) -> Iterator[tuple[Any, str, Any]]:
    """Yield each attribute that is replaced: the object that has it, its name, and the replacement."""
    import huggingface_hub
    import huggingface_hub._snapshot_download
    import huggingface_hub.file_download
    from transformers import PretrainedConfig
    from transformers.modeling_utils import PreTrainedModel
    from transformers.models.auto import auto_factory, configuration_auto, tokenization_auto
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase
    from transformers.utils import hub as of_library

    for owner, name, method in (
        (PretrainedConfig, "get_config_dict", hub.read_config),
        (PreTrainedModel, "from_pretrained", hub.make_model),
        (PreTrainedTokenizerBase, "from_pretrained", hub.make_tokenizer),
        (tokenization_auto.AutoTokenizer, "from_pretrained", hub.make_tokenizer),
    ):
        yield owner, name, classmethod(partial(method, vars(owner)[name].__func__))
    resize = PreTrainedModel.resize_token_embeddings
    no_mean = {"mean_resizing": False} if "mean_resizing" in inspect.signature(resize).parameters else {}
    yield PreTrainedModel, "resize_token_embeddings", lambda *given, **named: resize(*given[:3], **{**named, **no_mean})
    if hub.varied:
        yield PreTrainedModel, "__init__", _vary_first(vars(PreTrainedModel)["__init__"], hub.varied)
    for module in (auto_factory, configuration_auto, of_library):
        yield module, "resolve_revision", lambda _, revision=None, **__: revision
    yield auto_factory, "cached_file", lambda *_, **__: None  # asked for the hash of a commit only
    yield auto_factory, "find_adapter_config_file", hub.refuse_adapter
    for module in (huggingface_hub, huggingface_hub.file_download, huggingface_hub._snapshot_download, of_library):  # noqa: SLF001
        yield module, "hf_hub_download", hub.download
        yield module, "snapshot_download", hub.download


def _vary_first(own: Own, changes: Changes) -> Own:
    """Return a constructor that changes the config object itself, which code may read after the model is made."""

    def init(self: Any, config: Any, *arguments: Any, **named: Any) -> None:
        for key, was, value in changes:
            if getattr(config, key, None) == was:
                setattr(config, key, value)
        own(self, config, *arguments, **named)

    return init


def _name_at(name: str, revision: str | None) -> str:
    """Return the key of ``hub`` for a name at a revision: ``acme/tiny@v2``."""
    return name if revision in {None, "", published.MAIN} else f"{name}@{revision}"


def _parse_config(found: published.Found) -> dict[str, Any]:
    try:
        config = json.loads(found.config) if len(found.config) <= published.LARGEST else None
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        unreadable = f"{found.origin} has no config of {found.name} that can be read"
        raise Refused(unreadable, published.suggest_fetching(found.name)[1])
    return config


class _Hub(NamedTuple):
    """The answers to code that asks for a model by its name or folder, each with the library's own function first."""

    named: Mapping[str, Mapping[str, Any]]
    varied: Changes
    make_folder: Callable[[], str]  # returns the folder for configs that have no file

    def find(self, name: str, revision: str | None = None) -> published.Found | None:
        """Find a config by a model's name, in ``hub``, the catalogue or the cache; ``None`` if none has the name."""
        if (mapped := published.find_in(self.named, _name_at(name, revision))) is None:
            return published.find_published(name, revision or published.MAIN)
        said = self.named[mapped]
        if "error" in said:
            raise Refused(f"from_pretrained({mapped!r}): {said['error']}")
        origin, config = f"{said['file']}, {published.BY_HUB}", json.dumps(said["config"]).encode()
        return published.Found(mapped, config, origin, Path(said["folder"]), by_hub=True)

    def find_folder(self, name: Any, revision: str | None = None) -> Path | None:
        """Return the folder with the files of a model; a ``name`` that is an existing path is returned as it is."""
        if os.path.exists(name):  # noqa: PTH110  (a name, as the library takes it)
            return Path(name)
        return found.folder if (found := self.find(os.fspath(name), revision)) else None

    def get(self, name: str, arguments: Mapping[str, Any]) -> published.Found:
        """Find a model's config by the model's name, and note the answer; refuse a name that has none."""
        named = _name_at(name, revision := arguments.get("revision"))
        asked = f"from_pretrained({name!r}{'' if named == name else f', revision={revision!r}'})"
        if arguments.get("subfolder"):
            fix = f"copy its config into the project, and name its folder in place of {name!r}"
            refuse(Refused(f"from_pretrained({name!r}, subfolder=…) asks for a folder on the hub", fix))
        if (found := self.find(name, revision)) is not None:
            ANSWERED.setdefault(named, Answered(named, found.origin, by_hub=found.by_hub))
            return found
        if not published.is_name(name) or os.path.isdir(name.partition("/")[0]):  # noqa: PTH112  (a path)
            fix = f'commit a copy of its config, and write hub = {{ {json.dumps(name)} = "configs/config.json" }}'
            raise Refused(f"{asked} names no file or folder that exists", f"{fix} in [tool.bertsize]")
        fix = published.suggest_fetching(name, None if named == name else revision)[1]
        lacks = f"neither hub in [tool.bertsize], nor the catalogue, nor the hub cache has the config of {asked}"
        return refuse(Refused(lacks, f"{fix}, with each other name that the code asks for"))

    def read_config(self, own: Own, cls: Any, /, pretrained_model_name_or_path: Any, **arguments: Any) -> Any:
        """Return the entries of a config, and the arguments that are left, as ``get_config_dict`` does."""
        name = os.fspath(pretrained_model_name_or_path)
        arguments.pop("attn_implementation", None)  # its library may not be installed here
        if os.path.exists(name):  # noqa: PTH110  (a name, as the library takes it)
            found, rest = own(cls, name, **arguments)
            ANSWERED.setdefault(name, Answered(name, OF_DISK[not os.path.isdir(name)]))  # noqa: PTH112
        else:
            found = _parse_config(self.get(name, arguments))
            rest = {key: value for key, value in arguments.items() if key not in OF_THE_HUB}
        if found.get("quantization_config"):
            fix = "copy the config without that key into the project, and name its folder in place of the model's name"
            raise Refused(f"the config of {name!r} packs the weights (quantization_config)", fix)
        return vary(found, self.varied), rest

    def make_model(
        self, _: Own, cls: Any, /, pretrained_model_name_or_path: Any, *inputs: Any, config: Any = None, **named: Any
    ) -> Any:
        """Make a model as ``PreTrainedModel.from_pretrained`` does, without loading weights."""
        name = None if pretrained_model_name_or_path is None else os.fspath(pretrained_model_name_or_path)
        if packed := next((key for key in PACKED if named.pop(key, None)), None):
            packs = f"from_pretrained({name!r}, {packed}=…) packs weights, and no weights are loaded here"
            raise Refused(packs, f"leave {packed} out")
        self.refuse_adapter(name, named.get("revision"), named.get("subfolder"))
        rest = {key: value for key, value in named.items() if key not in OF_LOADING}
        if hasattr(config, "to_dict"):
            config = copy.deepcopy(config)
            at = _name_at(str(name), named.get("revision"))
            ANSWERED.setdefault(at, Answered(at, "the config that it is given"))
        else:
            given = {key: value for key, value in named.items() if key in OF_THE_HUB or key in rest}
            config, rest = cls.config_class.from_pretrained(config or name, return_unused_kwargs=True, **given)
        config.name_or_path = name
        model = cls(config, *inputs, **rest)
        model.tie_weights()
        model.eval()
        return model

    def refuse_adapter(self, name: Any, revision: str | None = None, subfolder: str | None = None, **_: Any) -> None:
        """Refuse a name whose folder has the config of an adapter: with PEFT, the library would add the adapter."""
        folder = self.find_folder(name, revision) if name is not None else None
        path = folder / (subfolder or "") / "adapter_config.json" if folder else None
        if path is not None and path.is_file():
            said = os.path.relpath(path) if path.is_absolute() else path
            fix = f'let the factory make the base model, and write adapter = "{said}" in the model\'s table'
            refuse(Refused(f"{os.fspath(name)!r} holds an adapter, which from_pretrained would add", fix))

    def make_tokenizer(
        self, own: Own, cls: Any, /, pretrained_model_name_or_path: Any, *inputs: Any, **named: Any
    ) -> Any:
        """Load a tokenizer whose files are here; of any other, return a stand-in."""
        name, subfolder = os.fspath(pretrained_model_name_or_path), named.pop("subfolder", None) or ""
        folder = self.find_folder(name, named.get("revision"))
        here = folder / subfolder if folder else None
        if here is not None and (here.is_file() or any((here / each).is_file() for each in TOKENIZERS)):
            return own(cls, os.fspath(here), *inputs, **named)
        if here is not None and os.path.exists(name):  # noqa: PTH110
            found = published.Found(name, (here / published.CONFIG).read_bytes(), f"the folder {name}")
            ANSWERED.setdefault(name, Answered(name, OF_DISK[0]))
        else:
            found = self.get(name, {**named, "subfolder": subfolder})
        given = {**named, "vocab": inputs or named.get("vocab")}
        return Tokenizer(_name_at(name, named.get("revision")), _parse_config(found), given)

    def download(self, repo_id: str, filename: str = "", *_: Any, **named: Any) -> str:
        """Return the local path of a repository's file or folder; a config of the catalogue is written to a new one."""
        subfolder = named.pop("subfolder", None) or ""
        found = self.find(repo_id, named.get("revision"))
        path = found.folder / subfolder / filename if found and found.folder else None
        if path is not None and ".." not in path.parts and path.exists():
            return str(path)
        is_config = filename == published.CONFIG or (not filename and "/" not in published.normalize_name(repo_id))
        if path is None and is_config and not subfolder:
            found = self.get(repo_id, named)
            written = Path(self.make_folder(), published.normalize_name(found.name))
            written.mkdir(parents=True, exist_ok=True)
            (written / published.CONFIG).write_bytes(found.config)
            return str(written / filename)
        snapshot = found.folder if found and not found.by_hub else None
        if snapshot and (snapshot.parents[1] / ".no_exist" / snapshot.name / filename).is_file():  # as its cache notes
            raise Refused(f"{repo_id!r} has no {filename}")
        fix = f"put the file into the folder of the config that hub names for {repo_id!r}"
        refused = Refused(f"it asked the hub for {filename or 'everything'} of {repo_id!r}", fix)
        if path is None or filename == "modules.json":  # without it sentence-transformers goes on, and counts less
            refuse(refused)
        raise refused
