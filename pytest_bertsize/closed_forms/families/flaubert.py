"""FlauBERT (Le et al. 2019, arXiv 1912.05372): XLM for French, with norms in front and layers dropped if asked."""

from pytest_bertsize.closed_forms.families import xlm

FAMILY = xlm.named("flaubert", "Flaubert")
