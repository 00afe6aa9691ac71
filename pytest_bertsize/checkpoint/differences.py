"""Tensor by tensor: where a checkpoint is not the model that config and class make."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from pytest_bertsize.checkpoint.headers import bytes_of
from pytest_bertsize.checkpoint.names import Names, aligned, as_loaded, new_name
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import Inventory, Tensor, pattern
from pytest_bertsize.wording import exact, number, plural, printable, shown, signed

if TYPE_CHECKING:
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.inventory import Loading

MOST_NAMED = 4
"""Rows of tensors that one sentence names before it counts the rest."""
MOST_DIMENSIONS = 8
"""Of a shape that a message writes out."""

NOT_PARAMETERS = re.compile(
    r"(?:^|\.)(?:position_ids|token_type_ids|rotary_emb\.inv_freq"  # _adjust_missing_and_unexpected_keys, 5.23
    r"|(?:attn|crossattention)\.(?:bias|masked_bias)"  # causal masks: GPT2Model._keys_to_ignore_on_load_unexpected
    r"|(?:encoder|decoder)\.version)$"  # fairseq's: BartPreTrainedModel._keys_to_ignore_on_load_unexpected
)
"""Buffers that older versions of transformers wrote, and that it leaves out when it loads."""

SAVED_BY = {
    "seq_relationship.": "ForPreTraining",
    "predictions.": "ForMaskedLM",
    "generator_lm_head.": "ForMaskedLM",
    "discriminator_predictions.": "ForPreTraining",
    "vocab_projector.": "ForMaskedLM",
    "lm_head.": "ForMaskedLM or …ForCausalLM",
    "qa_outputs.": "ForQuestionAnswering",
    "classifier.": "ForSequenceClassification or …ForTokenClassification",
}
"""How the names of heads begin, and how the class ends that writes them; the telling ones first."""

KEYS = {"embeddings.word": "vocab_size", "embeddings.token_type": "type_vocab_size"}
"""The config's key that says how many rows a table has."""

TABLE = 2
"""Dimensions of a table of embeddings."""


def compared(
    stored: Stored, model: Inventory, buffers: Collection[str], *, of: str, loading: Loading | None = None
) -> list[Finding]:
    """A finding for each way in which a checkpoint differs from the model; ``[]`` if it is that model's.

    :param buffers: names of the model that are no parameters, and may stand in the file.
    :param of: what the model is for the sentence, as in ``"the built model"``.
    :param loading: what transformers makes of the file; without it, names are aligned by what is known here.
    """
    names = as_loaded(stored, model, loading) if loading else aligned(stored, model)
    unsaved = loading.unsaved if loading else frozenset()
    groups = _tied_groups(model)
    missing = [
        tensor
        for tensor in model.tensors
        if not tensor.tied_to
        and tensor.name not in unsaved
        and not any(name in names.tensors for name in groups.get(tensor.name, (tensor.name,)))
    ]
    ignored = set(buffers)
    extra = [
        tensor
        for name, tensor in names.tensors.items()
        if name not in model.by_name and name not in ignored and not NOT_PARAMETERS.search(name)
    ]
    resized = [
        (tensor, names.tensors[tensor.name])
        for tensor in model.tensors
        if tensor.name in names.tensors
        and names.tensors[tensor.name].shape != tensor.shape
        and not (tensor.tied_to and _shape_of(names, tensor.tied_to) == names.tensors[tensor.name].shape)
    ]
    head = _head(extra)
    found = [
        *_missing(missing, names, head, of),
        *_extra(extra, names, head, of),
        *_resized(resized, of),
        *_duplicated(stored, model, names, of),
        *_renamed(names),
        *_passed_over(names, of),
    ]
    if names.prefix and not missing and not extra and not loading:
        found.insert(0, Finding("checkpoint-differs", _about_prefix(names, of), _prefix_fix(names, head)))
    return [finding._replace(file=stored.file) for finding in found]


def _shape_of(names: Names, name: str) -> tuple[int, ...] | None:
    return names.tensors[name].shape if name in names.tensors else None


def _tied_groups(model: Inventory) -> dict[str, list[str]]:
    """All names of a shared tensor, by its own name."""
    groups: dict[str, list[str]] = {}
    for tensor in model.tensors:
        if tensor.tied_to:
            groups.setdefault(tensor.tied_to, [tensor.tied_to]).append(tensor.name)
    return groups


# what to say


def _missing(missing: list[Tensor], names: Names, head: str, of: str) -> Iterable[Finding]:
    if not missing:
        return
    count = sum(tensor.size for tensor in missing)
    what = f"{_tensors(missing)} of {of}, {plural(count, 'parameter')},"
    message = f"{what} {_is(missing)} not in the file: {_rows(missing, _as_it_is)}"
    fix = _untied_elsewhere(missing, names) or _other_class_fix(names, head)
    yield Finding("checkpoint-differs", message, fix, component=_component(missing), expected=count, actual=0)


def _untied_elsewhere(missing: list[Tensor], names: Names) -> str:
    """A file that leaves out a decoder's matrix was saved by a model that ties it."""
    shapes = {tensor.shape for name, tensor in names.tensors.items() if "embed" in name and len(tensor.shape) == TABLE}
    decoder = next((each for each in missing if each.component.startswith("head") and each.shape in shapes), None)
    if decoder is None:
        return ""
    return (
        f"the file looks as saved by a model that ties {printable(decoder.name)} to the word embeddings: "
        "write tie_word_embeddings = true in the config, or save the untied model"
    )


def _extra(extra: list[Tensor], names: Names, head: str, of: str) -> Iterable[Finding]:
    if not extra:
        return
    count = sum(tensor.size for tensor in extra)
    verb = "have" if len(extra) > 1 else "has"
    what = f"{_tensors(extra)} of the file, {plural(count, 'parameter')},"
    message = f"{what} {verb} no place in {of}: {_rows(extra, _as_it_is)}"
    fix = _other_class_fix(names, head)
    yield Finding("checkpoint-differs", message, fix, expected=0, actual=count)


def _resized(resized: list[tuple[Tensor, Tensor]], of: str) -> Iterable[Finding]:
    if not resized:
        return
    has, stores = [ours for ours, _ in resized], [filed for _, filed in resized]
    expected, actual = sum(tensor.size for tensor in has), sum(tensor.size for tensor in stores)
    filed = {ours.name: stored.shape for ours, stored in resized}

    def both(name: str, shape: tuple[int, ...]) -> str:
        return f"{_dimensions(filed[name])} in the file, {_dimensions(shape)} in {of}"

    delta = f", {signed(actual - expected)} parameters" if actual != expected else ""
    shapes = "other shapes" if len(has) > 1 else "another shape"
    message = f"{_tensors(has)} {_is(has)} of {shapes} in the file{delta}: {_rows(has, both)}"
    fix = (
        _rows_fix(resized) or "write the config that the checkpoint was saved with, or name the checkpoint of this one"
    )
    yield Finding("checkpoint-differs", message, fix, component=_component(has), expected=expected, actual=actual)


def _rows_fix(resized: list[tuple[Tensor, Tensor]]) -> str:
    """The tokenizer was extended and the config was not, or the reverse: k rows of D more or fewer."""
    for ours, filed in resized:
        key = KEYS.get(ours.component)
        if key is None or len(ours.shape) != TABLE or ours.shape[1:] != filed.shape[1:]:
            continue
        rows, width = abs(filed.shape[0] - ours.shape[0]), ours.shape[1]
        more = "more" if filed.shape[0] > ours.shape[0] else "fewer"
        product = f"{plural(rows, f'{more} row')} of {width:,} = {plural(rows * width, 'parameter')}"
        if key == "vocab_size":
            product += f", as if the {'tokenizer' if more == 'more' else 'config'} was extended and the "
            product += "config was not" if more == "more" else "saved model was not"
        save = f"save the model with {number(ours.shape[0])} rows"
        return f"{product}: write {key} = {filed.shape[0]} in the config, or {save}"
    return ""


def _duplicated(stored: Stored, model: Inventory, names: Names, of: str) -> Iterable[Finding]:
    """A shared tensor that the file has twice. Where they differ, transformers (5.23) ties nothing."""
    for group in _tied_groups(model).values():
        present = [name for name in group if name in names.tensors]
        copies = present[1:]
        if not copies:
            continue
        filed = [names.tensors[name] for name in copies]
        count = sum(tensor.size for tensor in filed)
        size = sum(bytes_of(tensor.size, stored.dtypes[tensor.name]) for tensor in filed)
        listed = ", ".join(printable(tensor.name) for tensor in filed[:MOST_NAMED])
        yield Finding(
            "dead-weight",
            f"{listed} is stored a second time, {plural(count, 'parameter')} in {number(size)} bytes: "
            f"{of} shares it with {printable(names.tensors[present[0]].name)}",
            "save the model again with save_pretrained, which leaves the copy out; if the two differ, transformers "
            "loads them untied: write tie_word_embeddings = false",
            severity="warning",
            component=model.by_name[copies[0]].component or None,
            actual=count,
        )


def _renamed(names: Names) -> Iterable[Finding]:
    if names.renamed:
        first = names.renamed[0]
        yield Finding(
            "checkpoint-differs",
            f"{len(names.renamed):,} tensors have names of older versions, which transformers renames when it loads: "
            f"{printable(first)} is {printable(new_name(first))}",
            "nothing has to be done; save the model again to have the new names",
            severity="note",
        )


def _passed_over(names: Names, of: str) -> Iterable[Finding]:
    tensors = [tensor for tensor in names.passed_over if not NOT_PARAMETERS.search(tensor.name)]
    if tensors:
        count = sum(tensor.size for tensor in tensors)
        yield Finding(
            "checkpoint-differs",
            f"{_tensors(tensors)} of the file, {plural(count, 'parameter')}, {_is(tensors)} none of {of}, whose class "
            f"says that they are left out when it loads: {_rows(tensors, _as_it_is)}",
            "nothing has to be done; save the model again to have the file without",
            severity="note",
            expected=0,
            actual=count,
        )


# prefixes and heads


def _about_prefix(names: Names, of: str) -> str:
    if names.prefixed == "file":
        return f"the names in the file begin with {shown(names.prefix)}, those in {of} do not"
    return f"the names in {of} begin with {shown(names.prefix)}, those in the file do not"


def _other_class_fix(names: Names, head: str) -> str:
    if names.prefix:
        return _prefix_fix(names, head)
    if head:
        return f"the file looks as saved by a class that ends in …{head}: write that architecture"
    return "name the checkpoint that belongs to the config"


def _prefix_fix(names: Names, head: str) -> str:
    prefix = shown(names.prefix)
    if names.prefixed == "model":
        return (
            f"the file's names lack {prefix}: saved by the class without a head; write the architecture that saved it, "
            'as in architecture = "BertModel", or name the checkpoint of this one'
        )
    if head:
        return (
            f"the file's names begin with {prefix}: saved by a class with a head; write the architecture that saved "
            f"it, which ends in …{head}"
        )
    return (
        f"the file's names begin with {prefix}: saved inside another module; save the model itself, as in "
        "model.module.save_pretrained(…), or write the architecture that saved it"
    )


def _head(extra: list[Tensor]) -> str:
    """How the class ends that tensors look like which the model has no place for."""
    return next((ends for start, ends in SAVED_BY.items() if any(f".{start}" in f".{t.name}" for t in extra)), "")


# wording


def _tensors(tensors: list[Tensor]) -> str:
    return plural(len(tensors), "tensor")


def _is(tensors: list[Tensor]) -> str:
    return "are" if len(tensors) > 1 else "is"


def _component(tensors: list[Tensor]) -> str | None:
    """The one component that all of them count towards."""
    components = {tensor.component for tensor in tensors}
    return (components.pop() or None) if len(components) == 1 else None


def _as_it_is(name: str, shape: tuple[int, ...]) -> str:  # noqa: ARG001  (as the other wordings of a row)
    return _dimensions(shape)


def _rows(tensors: list[Tensor], wording: Callable[[str, tuple[int, ...]], str]) -> str:
    """``encoder.layer.*.output.dense.weight (×12) (768, 3072); … and 3 more``, each row in the given words."""
    rows: dict[tuple[str, str], list[Tensor]] = {}
    for tensor in tensors:
        rows.setdefault((pattern(tensor.name), wording(tensor.name, tensor.shape)), []).append(tensor)
    named = [
        f"{printable(name if len(same) > 1 else same[0].name)}{f' (×{len(same)})' if len(same) > 1 else ''} {words}"
        for (name, words), same in list(rows.items())[:MOST_NAMED]
    ]
    rest = sum(map(len, list(rows.values())[MOST_NAMED:]))
    return "; ".join(named) + (f"; and {exact(rest)} more" if rest else "")


def _dimensions(shape: tuple[int, ...]) -> str:
    more = ", …" if shape[MOST_DIMENSIONS:] else ""
    return f"({', '.join(number(size) for size in shape[:MOST_DIMENSIONS])}{more})"
