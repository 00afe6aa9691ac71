"""CamemBERT (Martin et al. 2019, arXiv 1911.03894): RoBERTa in French, with the config defaults of BERT."""

from __future__ import annotations

from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body

FAMILY = Family("camembert", bert.KEYS, roberta.architectures("Camembert", Body("roberta", bert.bert)))
