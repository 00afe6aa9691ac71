"""The answers of the helper process, decoded and checked: neither they nor the entries of the cache are trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pytest_bertsize.builder.messages import Built, Frame, NotBuilt
from pytest_bertsize.wording import printable, shown

LONGEST_REASON = 700  # characters of a failure that are shown: torch's sentences end with its advice
_UNESCAPED = frozenset({"tensors", "declared_ties", "loading", "flops"})  # names here are compared with other names
_CONTENTS: Mapping[str, Any] = {  # the type of a frame's content, by the frame's kind
    "built": Built,
    "unbuilt": NotBuilt,
    "ready": dict[str, str],
    "failed": str,
    "refused": str,
    "forked": Annotated[int, Meta(gt=0)],
    "begun": Annotated[int, Meta(ge=0)],
    "died": int,
    "nonsense": Any,
}


def read_content(frame: Frame) -> Any:
    """Decode a frame of the helper process; raise a ``ValueError`` for an unknown kind or a content of another type."""
    if frame.kind not in _CONTENTS:
        raise ValueError(frame.kind)
    content = msgspec.json.decode(frame.content, type=_CONTENTS[frame.kind])
    if isinstance(content, NotBuilt):
        reason, fix = (printable(text, LONGEST_REASON) for text in (content.reason, content.fix))
        return content._replace(reason=reason, fix=fix)
    return check_built(content._replace(agreed=False)) if isinstance(content, Built) else content


def check_built(built: Built) -> Built | NotBuilt:
    """Return a build with its texts escaped, or why it is none that counts; raise for a negative number."""
    if not built.tensors and not built.agreed:
        return NotBuilt("it has no parameters")
    if _has_negative((built.tensors, built.buffers, built.hidden, built.flops, built.loading)):
        raise ValueError("a build has a negative number")
    if odd := next((each.name for each in built.tensors if each.name != printable(each.name)), None):
        return NotBuilt(f"it has a parameter named {shown(odd)}")
    escaped = {key: _escape(value) for key, value in built._asdict().items() if key not in _UNESCAPED}
    return built._replace(**{**escaped, "stood_in": tuple(printable(each, LONGEST_REASON) for each in built.stood_in)})


def _has_negative(value: object) -> bool:
    return any(map(_has_negative, value)) if isinstance(value, tuple) else isinstance(value, int) and value < 0


def _escape(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, tuple):
        return type(value)._make(map(_escape, value)) if hasattr(value, "_make") else tuple(map(_escape, value))
    return {key: _escape(each) for key, each in value.items()} if isinstance(value, dict) else value
