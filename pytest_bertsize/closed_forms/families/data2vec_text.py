"""data2vec for text (Baevski et al. 2022, arXiv 2202.03555): RoBERTa with the config defaults of BERT."""

from __future__ import annotations

from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body

FAMILY = Family("data2vec-text", bert.KEYS, roberta.architectures("Data2VecText", Body("data2vec_text", bert.bert)))
