"""A tagger for named entities: BERT, characters through a convolution, a BiLSTM over both, and a CRF."""

from typing import Any

import torch
from torch import nn
from transformers import BertConfig, BertModel

KERNEL = 3


class Crf(nn.Module):
    """Scores of going from one tag to another, of beginning with it and of ending with it (Lample et al. 2016)."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.empty(tags, tags))
        self.start = nn.Parameter(torch.empty(tags))
        self.end = nn.Parameter(torch.empty(tags))


class Tagger(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        words, characters, hidden = config["hidden_size"], config["char_dim"], config["lstm_hidden"]
        self.encoder = BertModel(BertConfig(**config), add_pooling_layer=False)
        self.characters = nn.Embedding(config["char_vocab_size"], characters)
        self.spelling = nn.Conv1d(characters, characters, KERNEL)
        self.lstm = nn.LSTM(words + characters, hidden, bidirectional=True, batch_first=True)
        self.norm = nn.LayerNorm(2 * hidden)
        self.classifier = nn.Linear(2 * hidden, config["num_labels"])
        self.crf = Crf(config["num_labels"])
        for parameter in (*self.encoder.embeddings.parameters(), *self.encoder.encoder.layer[:6].parameters()):
            parameter.requires_grad = False


def build(config: dict[str, Any]) -> Tagger:
    return Tagger(config)
