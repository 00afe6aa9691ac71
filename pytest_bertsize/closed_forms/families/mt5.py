"""mT5 (Xue et al. 2020, arXiv 2010.11934): T5 with gated feed-forward layers and a vocabulary for 101 languages."""

from pytest_bertsize.closed_forms.declare import extend, family, read_switches
from pytest_bertsize.closed_forms.families import t5

DEFAULTS = {"feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu_new"}

KEYS = extend(
    t5.KEYS,
    "V 250112, I 1024, L 8, A 6",
    switches=read_switches("is_decoder false, is_gated_act true"),
    choices=tuple(choice._replace(default=DEFAULTS[choice.key]) for choice in t5.KEYS.choices),
    until=(t5.honoured(default=False), t5.HEAD_DIM),
)

FAMILY = family("mt5", KEYS, t5.CLASSES.replace("*", "MT5"), t5.trees(), derive=t5.derived("gated-gelu", layers=8))
