"""What bert4keras's classification examples build: BERT without its pooler, the first token, one dense layer."""

from typing import Any

import torch
from torch import nn
from transformers import BertConfig, BertModel

LABELS = 2


class Classifier(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.dense_output = nn.Linear(config.hidden_size, LABELS)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        first_token = self.bert(input_ids).last_hidden_state[:, 0]
        logits: torch.Tensor = self.dense_output(first_token)
        return logits


def build(config: dict[str, Any]) -> Classifier:
    return Classifier(BertConfig(**config))
