"""XLM-RoBERTa (Conneau et al. 2019, arXiv 1911.02116): RoBERTa with the config defaults of BERT."""

from __future__ import annotations

from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body

BODY = Body("roberta", bert.bert)
FAMILY = Family(
    "xlm-roberta", bert.KEYS, roberta.architectures("XLMRoberta", BODY, roberta.choice_without_pooler(BODY))
)
