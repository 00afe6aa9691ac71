"""Sizes that the project computes."""

from typing import Any

HEAD = 64


def small(heads: int = 8) -> dict[str, Any]:
    """BERT-small (Turc et al. 2019)."""
    return {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "vocab_size": 30522,
        "hidden_size": heads * HEAD,
        "num_hidden_layers": 4,
        "num_attention_heads": heads,
        "intermediate_size": 4 * heads * HEAD,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
    }
