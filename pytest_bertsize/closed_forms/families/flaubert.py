"""FlauBERT (Le et al. 2019, arXiv 1912.05372): XLM for French, with norms in front and layers dropped if asked."""

from __future__ import annotations

from dataclasses import replace

from pytest_bertsize.closed_forms.families import xlm
from pytest_bertsize.closed_forms.family import Family

TRAINING = frozenset(
    {
        *("amp", "bptt", "clip_grad_norm", "encoder_only", "fp16", "group_by_size", "lg_sampling_factor", "lgs"),
        *("max_batch_size", "max_len", "mlm_steps", "sample_alpha", "tokens_per_batch"),
        *("word_blank", "word_dropout", "word_keep", "word_mask", "word_mask_keep_rand", "word_pred", "word_rand"),
        *("word_shuffle",),
    }
)
"""How the published models were trained, which their configs tell."""

KEYS = replace(xlm.KEYS, inert=xlm.INERT | TRAINING | {"layerdrop", "pre_norm"})

FAMILY = Family("flaubert", KEYS, xlm.architectures("Flaubert"))
