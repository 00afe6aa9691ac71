"""BERT in Keras: a backbone of keras-hub, and the dense layer that bert4keras's classifier puts on the first token."""

from typing import Any

import keras
from keras_hub.models import BertBackbone

LABELS = 2


def build(config: dict[str, Any]) -> keras.Model:
    backbone = BertBackbone(**config)
    first_token = backbone.output["sequence_output"][:, 0]
    logits = keras.layers.Dense(LABELS, name="dense_output")(first_token)
    return keras.Model(backbone.input, logits)
