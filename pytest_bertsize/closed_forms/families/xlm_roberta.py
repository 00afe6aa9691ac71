"""XLM-RoBERTa (Conneau et al. 2019, arXiv 1911.02116): RoBERTa with the config defaults of BERT."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families import bert, roberta

CLASSES = roberta.classes("XLMRoberta", "roberta", choice=roberta.WITHOUT_POOLER)

FAMILY = family("xlm-roberta", bert.KEYS, CLASSES, roberta.trees("roberta"))
