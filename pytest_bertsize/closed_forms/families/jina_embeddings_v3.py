"""Jina embeddings v3 (Sturua et al. 2024, arXiv 2409.10173): XLM-RoBERTa with rotary positions.

V·D + T·D + 2·D + L·(4·D·A·W + 3·A·W + 2·D·I + I + 6·D), where W is the width of a head: no table of positions.
"""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import nomic_bert, roberta
from pytest_bertsize.closed_forms.parts import rotary

MLP = """
fc1                          linear D I
activation_fn                activation hidden_act
fc2                          linear I D
"""

KEYS = extend(
    nomic_bert.KEYS,
    "V 250002, D 1024, L 24, A 16, I 4096, T 1",
    activations="hidden_act gelu",
    rules=(rotary.SOME_WIDTH, rotary.EVEN_HEAD_DIM),
)

CLASSES = """
JinaEmbeddingsV3Model                       body(pooler=add_pooling_layer)   option add_pooling_layer=True
JinaEmbeddingsV3ForMaskedLM                 roberta.body + lm_head
JinaEmbeddingsV3ForSequenceClassification   roberta.body + dense_classifier
JinaEmbeddingsV3ForTokenClassification      roberta.body + classifier
JinaEmbeddingsV3ForQuestionAnswering        roberta.body + span
"""

FAMILY = family(
    "jina_embeddings_v3", KEYS, CLASSES, roberta.trees("roberta", nomic_bert.body(bias="True", mlp=MLP)), since=(5, 4)
)
