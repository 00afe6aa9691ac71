"""Compare a checkpoint with the built model, tensor by tensor, under the model's names."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
MOST_COMPARED = 10_000  # the most tensors that only the file has; with more, it belongs to another model altogether
OTHER_CONFIG = "write the config and the architecture that it was saved with, or name the checkpoint of this model"
# the names of buffers that older versions of transformers saved, and that newer ones do not load
NOT_PARAMETERS = re.compile(
    r"(?:^|\.)(?:position_ids|token_type_ids|rotary_emb\.inv_freq"  # _adjust_missing_and_unexpected_keys, 5.23
    r"|(?:attn|crossattention)\.(?:bias|masked_bias)"  # causal masks: GPT2Model._keys_to_ignore_on_load_unexpected
    r"|(?:encoder|decoder)\.version)$"  # fairseq's: BartPreTrainedModel._keys_to_ignore_on_load_unexpected
)


def compare_checkpoint(stored: Stored, built: Built, model: Inventory) -> Iterator[Finding]:
    """Yield findings for tensors that differ, and for those that the file has twice."""
    filed = _name_as_loaded(stored, built.loading)
    found = [*_find_copies(filed, model, stored)]  # which leaves out the copies
    unsaved = built.loading.unsaved if built.loading else frozenset()
    buffers = {each.name for each in built.buffers}
    expected = [each for each in model.tensors if not each.tied_to and each.name not in unsaved - filed.keys()]
    actual = [
        (model.by_name.get(name) or Tensor(name, (), ""))._replace(shape=tensor.shape, tied_to=None)
        for name, tensor in filed.items()
        if name in model.by_name or not (name in buffers or NOT_PARAMETERS.search(name))
    ]
    found[:0] = _find_differences(Inventory(tuple(expected)), Inventory(tuple(actual)))
    if problem := built.problems.get("loading"):
        message = "the names under which transformers loads the checkpoint are unknown; the file's names are compared"
        found.append(Finding("checkpoint-differs", f"{message}: {problem}", severity="warning"))
    return (each._replace(file=stored.file) for each in found)


def _name_as_loaded(stored: Stored, loading: Loading | None) -> dict[str, Tensor]:
    """Return the file's tensors by the names under which transformers loads them, without those that it ignores.

    If two tensors of the file get the same name, the second keeps its name in the file, which the model then lacks.
    """
    tensors = stored.inventory.by_name
    if loading is None:
        return dict(tensors)
    found: dict[str, Tensor] = {}
    for name, known_as, shape in sorted(loading.rows, key=lambda row: row[0] != row[1]):
        if name in tensors and known_as is not None:
            found[name if known_as in found else known_as] = tensors[name]._replace(shape=shape)
    return found


def _find_copies(filed: dict[str, Tensor], model: Inventory, stored: Stored) -> Iterator[Finding]:
    """Rename each tied tensor in ``filed`` to its owner's name.

    A tensor whose owner is there with its shape is a copy: it leaves ``filed``, and a finding for it is yielded;
    transformers (5.23) unties two that differ.
    """
    for each in model.tensors:
        if not each.tied_to or (copy := filed.pop(each.name, None)) is None:
            continue
        first = filed.setdefault(each.tied_to, copy)
        if first.shape != copy.shape:
            filed[each.name] = copy
        elif first is not copy:
            count, bytes_of = plural(copy.size, "parameter"), number(stored.bytes_of(copy))
            again = f"{printable(copy.name)} is stored a second time, {count} in {bytes_of} bytes"
            message = f"{again}: the built model ties it to {printable(first.name)}"
            fix = (
                "save the model again with save_pretrained, which leaves the copy out; if the two differ, transformers "
                "loads them untied: write tie_word_embeddings = false"
            )
            yield Finding("dead-weight", message, fix, "warning", each.component or None, actual=copy.size)


def _find_differences(expected: Inventory, actual: Inventory) -> Iterator[Finding]:
    foreign = sum(name not in expected.by_name for name in actual.by_name)
    if foreign > MOST_COMPARED:
        message = f"the built model does not have {foreign:,} tensors of the file"
        yield Finding("checkpoint-differs", message, OTHER_CONFIG, expected=expected.unique, actual=actual.unique)
    elif differences := compare_inventories(expected, actual):
        names = {name for each in differences for name in each.tensors}
        lacks, has = ([side.by_name[name] for name in names if name in side.by_name] for side in (expected, actual))
        components = {each.component for each in (*lacks, *has)}
        component = (components.pop() or None) if len(components) == 1 else None
        sentences = listed([each.sentence for each in differences], MOST_NAMED, "; ")
        message = f"the file's tensors differ from the built model's: {sentences}"
        missing, there = (sum(each.size for each in side) for side in (lacks, has))
        yield Finding("checkpoint-differs", message, OTHER_CONFIG, component=component, expected=missing, actual=there)
