"""CamemBERT (Martin et al. 2019, arXiv 1911.03894): RoBERTa in French, with the config defaults of BERT."""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.config.older_releases import file_in, unmentioned

KEYS = extend(bert.KEYS, until=(*bert.KEYS.until, *unmentioned((5, 4), file_in("5.4.0", "camembert", "configuration"))))
CLASSES = roberta.classes("Camembert", "roberta", choice=roberta.WITHOUT_POOLER)

FAMILY = family("camembert", KEYS, CLASSES, roberta.trees("roberta"))
