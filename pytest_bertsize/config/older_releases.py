"""Keys as older releases of transformers read them: changes that undo those of later releases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from pytest_bertsize.config.keys import ConfigKeys, Ignored, Refused, Size, Until

V4 = (5,)  # the first release in which the common rules of transformers 4 no longer apply
TIES = "tie_word_embeddings"
LIBRARY = "https://github.com/huggingface/transformers"


def before(release: str, change: Callable[[ConfigKeys], ConfigKeys], family: str, kind: str = "modeling") -> Until:
    """Return the change of a family's keys that came with a release, ``"5.4.0"``, whose own file is the source."""
    source = f"{LIBRARY}/blob/v{release}/src/transformers/models/{family}/{kind}_{family}.py"
    return Until(tuple(map(int, release.split(".")))[:2], change, source)


def replaced(**changes: Any) -> Callable[[ConfigKeys], ConfigKeys]:
    """Return the change that gives fields of a family's keys the values in ``changes``."""
    return lambda keys: replace(keys, **changes)


def without_rules_on(key: str) -> Callable[[ConfigKeys], ConfigKeys]:
    """Return the change that removes all rules on a key."""
    return lambda keys: replace(keys, rules=tuple(rule for rule in keys.rules if key not in rule.keys))


def without(key: str) -> Callable[[ConfigKeys], ConfigKeys]:
    """Return the change that removes a key, which the family then ignores."""

    def change(keys: ConfigKeys) -> ConfigKeys:
        sizes = tuple(each for each in keys.sizes if each.key != key)
        switches = tuple(each for each in keys.switches if each.key != key)
        unnoticed = Ignored((None,), because="this release of transformers does not read it yet")
        return replace(keys, sizes=sizes, switches=switches, ignored={**keys.ignored, key: unnoticed})

    return change


def _each_changed(kind: str, change: Callable[[Any], Any]) -> Callable[[ConfigKeys], ConfigKeys]:
    """Return the change that applies ``change`` to every key of one kind, such as ``"sizes"``."""
    return lambda keys: replace(keys, **{kind: tuple(map(change, getattr(keys, kind)))})


def without_alias(key: str, alias: str) -> Callable[[ConfigKeys], ConfigKeys]:
    """Return the change that removes an alias of a size."""

    def change(size: Size) -> Size:
        others = tuple(each for each in size.aliases if each != alias)
        return size._replace(aliases=others, unread=(*size.unread, alias)) if size.key == key else size

    return _each_changed("sizes", change)


def _tied_by_default(*, default: bool) -> Callable[[ConfigKeys], ConfigKeys]:
    return _each_changed("switches", lambda each: each._replace(default=default) if each.key == TIES else each)


def unmentioned(until: str, family: str) -> tuple[Until, Until]:
    """Return the changes for a config class that in transformers 5 lacked ``tie_word_embeddings`` before ``until``."""
    lacked = before(until, _tied_by_default(default=False), family, "configuration")
    return lacked, Until(V4, _tied_by_default(default=True), TIED_BY_EACH)


TIED_BY_EACH = "https://github.com/huggingface/transformers/pull/41541"  # each config's own default for ties


_PRUNES = "transformers 4 removes heads from layers, which fails on the meta device"
_COPIES = "transformers 4 then copies tied tensors"
_TIES_LAYERS = "transformers 4 then ties layer by layer, which has no closed form"
# keys that transformers 4 reads for every family, and transformers 5 ignores
BEFORE_5 = {
    "pruned_heads": Refused(({}, None), _PRUNES, "save the pruned sizes"),
    "torchscript": Refused((False, None), _COPIES, "write false, and set it in the code that traces"),
    "tie_encoder_decoder": Refused((False, None), _TIES_LAYERS, "write false"),
}

ACTIVATIONS = "https://github.com/huggingface/transformers/commits/main/src/transformers/activations.py"
# words of ``ACT2FN`` with the first release that has them; xIELU came with Apertus (transformers#39381)
ACTIVATIONS_SINCE = {
    "prelu": (4, 49),
    "xielu": (4, 56),
    "gelu_python_tanh": (4, 57),
    "hardswish": (5, 4),
    "sqrtsoftplus": (5, 8),
}


def _with_refused(keys: ConfigKeys) -> ConfigKeys:
    ignored = {key: each for key, each in keys.ignored.items() if key not in BEFORE_5}
    return replace(keys, ignored=ignored, refused={**keys.refused, **BEFORE_5})


def _without_word(word: str) -> Callable[[ConfigKeys], ConfigKeys]:
    gone = {word, f"gated-{word}"}
    return _each_changed("choices", lambda each: each._replace(words=[one for one in each.words if one not in gone]))


# changes of the keys of every family since older releases
EVERYWHERE = (
    Until(V4, _with_refused, TIED_BY_EACH),
    *(Until(since, _without_word(word), ACTIVATIONS) for word, since in ACTIVATIONS_SINCE.items()),
)
