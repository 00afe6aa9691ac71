"""ERNIE (Sun et al. 2019, arXiv 1904.09223): BERT, since ERNIE 2.0 (arXiv 1907.12412) with an embedding of the task.

BERT, and Tt·D for the kinds of task that it is trained on.
"""

from dataclasses import replace

from pytest_bertsize.closed_forms.declare import family, read_sizes, read_switches
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.tree import fill

BODY = f"""
{bert.BERT}
embeddings.task_type_embeddings   embedding Tt D   @embeddings.task_type   when use_task_id
"""
KEYS = replace(
    bert.KEYS,
    sizes=(*bert.KEYS.sizes, *read_sizes("Tt task_type_vocab_size 3")),
    switches=(*bert.KEYS.switches, *read_switches("use_task_id false")),
)
CLASSES = fill(bert.CLASSES, name="ernie", causal="ForCausalLM").replace("*", "Ernie")

FAMILY = family("ernie", KEYS, CLASSES, bert.trees("ernie", BODY))
