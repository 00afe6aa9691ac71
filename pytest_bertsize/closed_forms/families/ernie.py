"""ERNIE (Sun et al. 2019, arXiv 1904.09223): BERT, since ERNIE 2.0 (arXiv 1907.12412) with an embedding of the task.

BERT, and Tt·D for the kinds of task that it is trained on.
"""

from pytest_bertsize.closed_forms.declare import extend, family, fill
from pytest_bertsize.closed_forms.families import bert

BODY = f"""
{bert.BERT}
embeddings.task_type_embeddings   embedding Tt D   @embeddings.task_type   when use_task_id
"""
KEYS = extend(bert.KEYS, "Tt task_type_vocab_size 3", switches="use_task_id false")
CLASSES = fill(bert.CLASSES, name="ernie", causal="ForCausalLM").replace("*", "Ernie")

FAMILY = family("ernie", KEYS, CLASSES, bert.trees("ernie", BODY))
