"""A model class of the project's own."""

from torch import nn
from transformers import BertConfig, BertModel, BertPreTrainedModel


class ColBert(BertPreTrainedModel):
    """Late interaction: one short vector for every token."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.bert = BertModel(config)
        self.linear = nn.Linear(config.hidden_size, config.token_width, bias=False)
        self.post_init()
