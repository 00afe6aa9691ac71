"""Configs of several parts: a backbone at each of several attributes, or the folder that sentence-transformers saves.

Each part is read from its own file, with its own lines. Together they are one config, whose keys begin with part names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from pytest_bertsize.builder.published import CONFIG
from pytest_bertsize.config.json_and_toml import load_json, parse_json
from pytest_bertsize.config.model_config import TRANSFORMERS, ModelConfig, Module, fail
from pytest_bertsize.findings import Finding, Unusable, find_all
from pytest_bertsize.table.limits import FLOPS
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.reader import Reader
    from pytest_bertsize.table.model import Model

MODULES = "modules.json"  # the file in which sentence-transformers lists the modules of a folder
LIBRARY = "sentence_transformers."
EMPTY = frozenset({"Pooling", "Normalize", "Dropout", "BoW", "SpladePooling"})  # modules without parameters
KINDS = frozenset({*TRANSFORMERS, "Dense", "LayerNorm", *EMPTY})  # modules that have a closed form
SETTINGS = tuple(
    f"sentence_{each}_config.json"
    for each in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
MOST_MODULES = 50
# keys with the arguments that sentence-transformers passes to the config, and to the class, of transformers
OF_CONFIG, OF_MODEL = ("config_args", "config_kwargs"), ("model_args", "model_kwargs")
# arguments of sentence-transformers that affect no count, and ``add_pooling_layer``, which is counted
OF_LOADING = frozenset(
    {
        *("add_pooling_layer", "attn_implementation", "torch_dtype", "dtype", "trust_remote_code", "revision", "token"),
        *("cache_dir", "local_files_only", "device_map", "low_cpu_mem_usage", "use_safetensors", "code_revision"),
    }
)
BY_FACTORY = (
    'write factory = "module:function" and closed_form = false in place of config, with a function that returns the '
    "SentenceTransformer"
)


class _Entry(Struct):
    name: Annotated[str, Meta(pattern=r"\A\w{1,100}\Z")]
    path: Annotated[str, Meta(pattern=r"(?a)\A(\w[\w.-]{0,99}(/\w[\w.-]{0,99}){0,5})?\Z")]
    type: str

    @property
    def kind(self) -> str:
        return self.type.rpartition(".")[2]


def of_backbones(model: Model, read: Callable[[Model], ModelConfig]) -> ModelConfig:
    """Return the config of a model's backbone, or one for several backbones, each of which ``read`` reads."""
    if not model.backbones:
        return read(model)
    _refuse_keys_of_one_model(model, ("adapter", "checkpoint", "tokenizer"), "several backbones")
    alone = (model.replace(config=each, backbone=name, backbones={}) for name, each in model.backbones.items())
    found = dict(zip(model.backbones, find_all(partial(read, each) for each in alone), strict=True))
    return _join_parts(found, whole=", ".join(dict.fromkeys(each.reference for each in found.values())))


def _join_parts(parts: Mapping[str, ModelConfig], *, whole: str, primary: str = "") -> ModelConfig:
    data: dict[str, object] = {name: each.as_written for name, each in parts.items()}
    digest = hashlib.sha256("\n".join(each.sha256 for each in parts.values()).encode()).hexdigest()
    found = ModelConfig(whole, (), data, digest, parts=parts, primary=primary, whole=whole)
    if not primary:
        return found
    return replace(found, file=parts[primary].file, line_of=lambda path: parts[primary].line(*path))


def _refuse_keys_of_one_model(model: Model, keys: tuple[str, ...], several: str, alone: str = "") -> None:
    """:param alone: the end of the message, which shows how to declare one of the several models alone."""
    said = f"is for one model, and this one has {several}{alone}"
    wrong: dict[tuple[str, ...], str] = {(key,): f"{key} {said}" for key in keys if getattr(model, key)}
    if not wrong and any(limit.component == FLOPS for limit in model.limits):
        wrong["budget", FLOPS] = f"budget.flops is for a forward pass of one model, and this one has {several}"
    if wrong:
        raise Unusable(*(Finding("config-invalid", each, "remove it", table_key=key) for key, each in wrong.items()))


def of_folder(content: bytes, folder: str, reader: Reader, model: Model | None = None) -> ModelConfig:
    """Return one config for all modules that a ``modules.json`` lists; raise :class:`Unusable` for unknown kinds."""
    file = f"{printable(_join_path(folder, MODULES))}{reader.at}"
    entries = _check_entries(load_json(content, file), file)
    transformer = next((each.path for each in entries if each.kind in TRANSFORMERS), "")
    alone = f'config = "{printable(_join_path(folder, transformer, CONFIG))}"'
    if model is not None:
        several = f"several modules ({file})"
        itself = f"; {alone} is its transformer alone"
        of_one = ("architecture", "family", "keys", "adapter", "checkpoint")
        _refuse_keys_of_one_model(model, of_one, several, itself)
        if not model.closed_form:
            message = f"closed_form = false is for a class or a factory, and this model has {several}{itself}"
            raise Unusable(Finding("config-invalid", message, "remove it", table_key=("closed_form",)))
    way_out = f"{BY_FACTORY}, or name the transformer alone, as in {alone}"
    modules: list[Module] = []
    for each in entries:
        if not each.type.startswith(LIBRARY) or each.kind not in KINDS:
            named = f"module {shown(each.path or each.name)} is of type {shown(each.type)}"
            fail(file, f"{named}, for which there is no closed form", way_out, kind="unknown-closed-form")
        if each.kind not in EMPTY:
            modules.append(_read_module(each, folder, reader))
    if not modules:
        fail(file, "none of its modules has parameters", way_out)
    own = {each.part: each.config for each in modules}
    if len(own) < len(modules):
        fail(file, "two of its modules have the same path", "give each its own folder")
    transformers = [each.part for each in modules if each.is_transformer]
    primary = transformers[0] if len(transformers) == 1 else ""
    return replace(_join_parts(own, whole=file, primary=primary), modules=tuple(modules))


def _join_path(*parts: str) -> str:
    return str(PurePosixPath(*parts))


def _check_entries(entries: object, file: str) -> list[_Entry]:
    try:
        found: list[_Entry] = msgspec.convert(
            entries, Annotated[list[_Entry], Meta(min_length=1, max_length=MOST_MODULES)]
        )
    except msgspec.ValidationError as error:
        fix = 'write 1 to 50 modules, each as { "name": "0", "path": "…", "type": "…" }, with a folder below this one'
        fail(file, f"it does not list modules: {printable(str(error))}", fix)
    if len({each.name for each in found}) < len(found):
        fail(file, "two modules have the same name", "give each its own name")
    return found


def _read_module(entry: _Entry, folder: str, reader: Reader) -> Module:
    kind, place = entry.kind, _join_path(folder, entry.path)
    config = _read_json(_join_path(place, CONFIG), reader)
    if config is None:
        where = f"{printable(_join_path(place, CONFIG))}{reader.at}"
        fail(where, f"there is no such file, and a {kind} needs it", "write the file that sentence-transformers saves")
    names = SETTINGS if kind in TRANSFORMERS else ()
    found = next(filter(None, (_read_json(_join_path(place, name), reader) for name in names)), None)
    settings = {key: value for key, value in found.data.items() if value is not None} if found else {}
    if found:
        _refuse_sizes(found)
    part = (entry.path or f"{entry.name}_{kind}").replace("/", "_").replace(".", "_")
    return Module(part, kind, entry.name, config, settings)


def _read_json(path: str, reader: Reader) -> ModelConfig | None:
    content = reader.file(path)
    return None if content is None else parse_json(content, f"{printable(path)}{reader.at}")


def _refuse_sizes(settings: ModelConfig) -> None:
    for name in (*OF_CONFIG, *OF_MODEL):
        said = settings.data.get(name)
        if not isinstance(said, dict | None):
            settings.refuse(name, f"{name} is {shown(said)}, not an object", "remove it")
        for key, value in (said or {}).items():
            if key not in OF_LOADING:
                settings.refuse(name, f"{name} sets {shown(key)} when the model loads", "write it in its config.json")
            if key == "add_pooling_layer" and not isinstance(value, bool):
                settings.refuse(name, f"{key} is {shown(value)}", "write true or false")
