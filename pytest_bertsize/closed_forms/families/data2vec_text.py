"""data2vec for text (Baevski et al. 2022, arXiv 2202.03555): RoBERTa with the config defaults of BERT."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families import bert, roberta

CLASSES = roberta.classes("Data2VecText", "data2vec_text")

FAMILY = family("data2vec-text", bert.KEYS, CLASSES, roberta.trees("data2vec_text"))
