"""M2M-100 (Fan et al. 2020, arXiv 2010.11125) and NLLB: BART with positions that are computed, norms at the end."""

from pytest_bertsize.closed_forms.declare import extend
from pytest_bertsize.closed_forms.families import bart, pegasus
from pytest_bertsize.config.keys import Rule

SOME_FREQUENCIES = Rule(
    ("d_model",),
    lambda values: values["d_model"] // 2 != 1,
    "d_model {d_model} leaves one frequency for the sinusoidal positions, which the class divides by one less",
    "make d_model at least 4",
)
KEYS = extend(pegasus.KEYS, "V 128112", rules=(SOME_FREQUENCIES,), activations="activation_function relu")

FAMILY = bart.kin(
    "m2m_100",
    KEYS,
    """
    M2M100Model                      both
    M2M100ForConditionalGeneration   model.both + lm_head
    """,
    **bart.trees(positions="", norms=bart.LAST_NORM),
)
