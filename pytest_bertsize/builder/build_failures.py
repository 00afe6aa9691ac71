"""Why a model was not built, and what to do about it."""

from __future__ import annotations

_NOT_INSTALLED = {"torch and transformers cannot be imported": "install them beside pytest-bertsize"}
_OF_CLASSES = {
    **_NOT_INSTALLED,
    "ModuleNotFoundError": (
        "make the module importable from the project's root, or correct defined_in of its closed form"
    ),
    "has no model class": "install a version of transformers that has it, or correct the name",
    "Padding_idx": "write a pad_token_id below vocab_size",
    "MB of memory": "declare a smaller model",
    "emory": "its class takes real memory on the meta device, and more than 1 GiB of it: declare a smaller model",
    "": "correct the value that the class refuses",
}
"""Ways out by a part of the reason; the first that fits."""
_IMPORTABLE = (
    "make the module importable from the project's root (pip install -e . where it is in src), or correct factory"
)
_OF_FACTORIES = {
    **_NOT_INSTALLED,
    "No module named 'keras": "pip install 'pytest-bertsize[keras]'",
    "ModuleNotFoundError": _IMPORTABLE,
    "ImportError": _IMPORTABLE,
    "memory": "build on the device that is set, which is meta: nothing has to be loaded or moved",
    "it was not built within": "build the module, and nothing else",
    "": "mend the factory, or what it calls",
}


def way_out(reason: str, *, own: bool) -> str:
    """What to write, by the reason why a model was not built.

    :param own: whether a function of the project built it.
    """
    if "pytest-bertsize[peft]" in reason:
        return "install it beside pytest-bertsize"
    fixes = _OF_FACTORIES if own else _OF_CLASSES
    return next(fix for part, fix in fixes.items() if part in reason)
