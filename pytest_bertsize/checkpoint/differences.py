"""Compare a checkpoint with the built model, tensor by tensor, under the model's names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pytest_bertsize.differences import compare_inventories
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.wording import listed, number, plural, printable

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.inventory import Loading

MOST_NAMED = 4  # the most differences, or tensors, that one sentence names; it counts the rest

MOST_COMPARED = 10_000
"""The most tensors that the file has and the model lacks; a file with more belongs to another model altogether."""
OTHER_CONFIG = "write the config that the checkpoint was saved with, or name the checkpoint of this model"

NOT_PARAMETERS = re.compile(
    r"(?:^|\.)(?:position_ids|token_type_ids|rotary_emb\.inv_freq"  # _adjust_missing_and_unexpected_keys, 5.23
    r"|(?:attn|crossattention)\.(?:bias|masked_bias)"  # causal masks: GPT2Model._keys_to_ignore_on_load_unexpected
    r"|(?:encoder|decoder)\.version)$"  # fairseq's: BartPreTrainedModel._keys_to_ignore_on_load_unexpected
)
"""Pattern of the names of buffers that older versions of transformers saved, and that newer ones do not load."""

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
"""Modules of heads, each with the suffix of its classes' names; the most specific module is first."""

KEYS = {"embeddings.word": "vocab_size", "embeddings.token_type": "type_vocab_size"}
"""Keys of the config that give the rows of embeddings, by component."""
TABLE = 2  # the number of dimensions of a table of embeddings


def compare_checkpoint(stored: Stored, built: Built, model: Inventory) -> Iterator[Finding]:
    """Yield findings for tensors that differ, tensors that the file has twice, and tensors that the class ignores."""
    filed, left_out = _name_as_loaded(stored, built.loading)
    copies = _take_copies(filed, model)
    unsaved = built.loading.unsaved if built.loading else frozenset()
    buffers = {each.name for each in built.buffers}
    expected = [each for each in model.tensors if not each.tied_to and each.name not in unsaved - filed.keys()]
    actual = [
        (model.by_name.get(name) or Tensor(name, (), ""))._replace(shape=tensor.shape, tied_to=None)
        for name, tensor in filed.items()
        if name in model.by_name or not (name in buffers or NOT_PARAMETERS.search(name))
    ]
    found = [
        *_find_differences(Inventory(tuple(expected)), Inventory(tuple(actual))),
        *_find_copies(copies, stored),
        *_find_left_out(left_out),
    ]
    if problem := built.problems.get("loading"):
        message = "the names under which transformers loads the checkpoint are unknown; the file's names are compared"
        found.append(Finding("checkpoint-differs", f"{message}: {problem}", severity="warning"))
    return (each._replace(file=stored.file) for each in found)


def _name_as_loaded(stored: Stored, loading: Loading | None) -> tuple[dict[str, Tensor], list[Tensor]]:
    """Return the file's tensors by the names under which transformers loads them, and the tensors that it ignores.

    If two tensors of the file get the same name, the second keeps its name in the file, which the model then lacks.
    """
    tensors = stored.inventory.by_name
    if loading is None:
        return dict(tensors), []
    rows = [row for row in loading.rows if row[0] in tensors]
    found: dict[str, Tensor] = {}
    for name, known_as, shape in sorted(rows, key=lambda row: row[0] != row[1]):
        if known_as is not None:
            found[name if known_as in found else known_as] = tensors[name]._replace(shape=shape)
    left_out = (tensors[name] for name, known_as, _ in rows if known_as is None)
    return found, [each for each in left_out if not NOT_PARAMETERS.search(each.name)]


def _take_copies(filed: dict[str, Tensor], model: Inventory) -> list[tuple[Tensor, Tensor, str]]:
    """Rename each tied tensor in ``filed`` to its owner's name; drop a tensor whose owner is there with its shape.

    :returns: for each tensor that was dropped: its owner, the dropped tensor and the dropped tensor's component.
    """
    copies = []
    for each in model.tensors:
        if each.tied_to and (copy := filed.pop(each.name, None)):
            first = filed.setdefault(each.tied_to, copy)
            if first is not copy and first.shape == copy.shape:
                copies.append((first, copy, each.component))
            elif first is not copy:
                filed[each.name] = copy
    return copies


def _find_differences(expected: Inventory, actual: Inventory) -> Iterator[Finding]:
    foreign = sum(name not in expected.by_name for name in actual.by_name)
    if foreign > MOST_COMPARED:
        message = f"the built model does not have {foreign:,} tensors of the file"
        yield Finding("checkpoint-differs", message, OTHER_CONFIG, expected=expected.unique, actual=actual.unique)
    elif differences := compare_inventories(expected, actual):
        names = {name for each in differences for name in each.tensors}
        lacks, has = ([side.by_name[name] for name in names if name in side.by_name] for side in (expected, actual))
        components = {each.component for each in (*lacks, *has)}
        sentences = listed([each.sentence for each in differences], MOST_NAMED, "; ")
        yield Finding(
            "checkpoint-differs",
            f"the file's tensors differ from the built model's: {sentences}",
            _suggest_fix(expected, actual),
            component=(components.pop() or None) if len(components) == 1 else None,
            expected=sum(each.size for each in lacks),
            actual=sum(each.size for each in has),
        )


def _suggest_fix(expected: Inventory, actual: Inventory) -> str:
    for ours in expected.tensors:
        filed, key = actual.by_name.get(ours.name, ours), KEYS.get(ours.component)
        if key and len(ours.shape) == TABLE and filed.shape != ours.shape and filed.shape[1:] == ours.shape[1:]:
            more = filed.shape[0] > ours.shape[0]
            only = "tokenizer and not the config" if more else "config and not the saved model"
            save = f"save the model with {number(ours.shape[0])} rows"
            return f"it seems that the {only} was extended: write {key} = {filed.shape[0]} in the config, or {save}"
    lacking = [each for each in expected.tensors if each.name not in actual.by_name]
    added = [each for each in actual.tensors if each.name not in expected.by_name]
    tables = {each.shape for each in actual.tensors if "embed" in each.name and len(each.shape) == TABLE}
    for each in lacking:
        if each.component.startswith("head") and each.shape in tables:
            return (
                f"the file seems to be saved by a model that ties {printable(each.name)} to the word embeddings: "
                "write tie_word_embeddings = true in the config, or save the untied model"
            )
    for begins, ends in SAVED_BY.items():
        if any(f".{begins}" in f".{each.name}" for each in added):
            return f"the file seems to be saved by a class that ends in …{ends}: write that architecture"
    if lacking and all(each.component.startswith("head") for each in lacking):
        return "the file seems to be saved by a class without that head: write that class, or save the whole model"
    if lacking and any(each.name.endswith(f".{lacking[0].name}") for each in added):
        return (
            "the file seems to be saved inside another module: save the model itself, as in "
            "model.module.save_pretrained(…), or write the architecture that saved it"
        )
    return OTHER_CONFIG


def _find_copies(copies: Iterable[tuple[Tensor, Tensor, str]], stored: Stored) -> Iterator[Finding]:
    """Yield a finding for each tied tensor that the file has twice; transformers (5.23) unties two that differ."""
    for first, second, component in copies:
        yield Finding(
            "dead-weight",
            f"{printable(second.name)} is stored a second time, {plural(second.size, 'parameter')} in "
            f"{number(stored.bytes_of(second))} bytes: the built model ties it to {printable(first.name)}",
            "save the model again with save_pretrained, which leaves the copy out; if the two differ, transformers "
            "loads them untied: write tie_word_embeddings = false",
            severity="warning",
            component=component or None,
            actual=second.size,
        )


def _find_left_out(tensors: list[Tensor]) -> Iterator[Finding]:
    if tensors:
        count = sum(each.size for each in tensors)
        what = f"{plural(len(tensors), 'tensor')} of the file, {plural(count, 'parameter')}"
        named = listed([printable(each.name) for each in tensors], MOST_NAMED)
        yield Finding(
            "checkpoint-differs",
            f"when the built model's class loads the file, the class ignores {what}: {named}",
            f"leave the file as it is, or save the model again to remove {'them' if tensors[1:] else 'it'}",
            severity="note",
            expected=0,
            actual=count,
        )
