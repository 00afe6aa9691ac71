"""Classes of a project that were written for transformers 4 or older, made with 5: what these never had to call."""

from __future__ import annotations

import sys
from typing import Any


def welcome() -> None:
    """Let ``self.init_weights()`` do at the end of a constructor, where transformers 5 wants ``self.post_init()``.

    It is there that the ties of a class are looked up; without them the library's own methods fail.
    """
    modeling = sys.modules.get("transformers.modeling_utils")
    base = getattr(modeling, "PreTrainedModel", None)
    if base is None or not hasattr(base, "get_expanded_tied_weights_keys") or hasattr(base, "_bertsize_init_weights"):
        return
    base._bertsize_init_weights = base.init_weights  # noqa: SLF001

    def init_weights(self: Any) -> None:
        if not hasattr(self, "all_tied_weights_keys"):
            self.all_tied_weights_keys = self.get_expanded_tied_weights_keys(all_submodels=False)
        self._bertsize_init_weights()

    base.init_weights = init_weights
