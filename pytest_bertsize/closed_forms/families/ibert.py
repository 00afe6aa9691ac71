"""I-BERT (Kim et al. 2021, arXiv 2101.01321): RoBERTa in integer arithmetic, with the config defaults of BERT."""

from __future__ import annotations

from dataclasses import replace

from pytest_bertsize.closed_forms.body import Body
from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.config_keys import Choice

KEYS = replace(
    bert.ENCODER_KEYS,
    choices=(Choice("hidden_act", "gelu", ("gelu",)),),
    inert=bert.ENCODER_KEYS.inert | {"force_dequant", "quant_mode"},
)
"""The only activation that the class takes is the one that it has integers for."""

FAMILY = Family("ibert", KEYS, roberta.encoders("IBert", Body("ibert", bert.encoder_only)))
