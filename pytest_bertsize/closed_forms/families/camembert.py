"""CamemBERT (Martin et al. 2019, arXiv 1911.03894): RoBERTa in French, with the config defaults of BERT."""

from __future__ import annotations

from dataclasses import replace

from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.config.older_releases import unmentioned

SOURCE = "https://github.com/huggingface/transformers/blob/v5.4.0/src/transformers/models/camembert/configuration_camembert.py"
KEYS = replace(bert.KEYS, until=(*bert.KEYS.until, *unmentioned((5, 4), SOURCE)))

BODY = Body("roberta", bert.bert)
FAMILY = Family("camembert", KEYS, roberta.architectures("Camembert", BODY, roberta.choice_without_pooler(BODY)))
