"""What a class that was written for transformers 4 never had to call, and transformers 5 needs."""

from __future__ import annotations

import sys
from typing import Any

from pytest_bertsize.builder.child.stand_ins import STOOD_IN


def complete_init_weights() -> None:
    """Let ``self.init_weights()`` end a constructor, where transformers 5 has ``self.post_init()`` look up the ties.

    Without them the library's own methods fail.
    """
    modeling = sys.modules.get("transformers.modeling_utils")
    base = getattr(modeling, "PreTrainedModel", None)
    if base is None or not hasattr(base, "get_expanded_tied_weights_keys") or hasattr(base, "_bertsize_init_weights"):
        return
    base._bertsize_init_weights = base.init_weights  # noqa: SLF001

    def init_weights(self: Any) -> None:
        if not hasattr(self, "all_tied_weights_keys"):
            calls = f"{type(self).__name__} calls init_weights() where transformers 5 needs post_init()"
            STOOD_IN[f"{calls}, whose part was done for it"] = None
            self.all_tied_weights_keys = self.get_expanded_tied_weights_keys(all_submodels=False)
        self._bertsize_init_weights()

    base.init_weights = init_weights
