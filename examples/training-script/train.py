"""Trains a tagger for two steps on random data, once it is known to be the one that was reviewed."""

import argparse
from collections.abc import Sequence

import torch
from transformers import BertConfig, BertForTokenClassification

from pytest_bertsize import check_model

VOCABULARY, POSITIONS = 1_000, 64
STEPS = 2


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--labels", type=int, default=9)
    return parser.parse_args(arguments)


def make(options: argparse.Namespace) -> BertForTokenClassification:
    config = BertConfig(
        vocab_size=VOCABULARY,
        max_position_embeddings=POSITIONS,
        hidden_size=options.width,
        intermediate_size=4 * options.width,
        num_attention_heads=options.width // 16,
        num_hidden_layers=options.layers,
        num_labels=options.labels,
    )
    return BertForTokenClassification(config)


def main() -> None:
    options = parse()
    model = make(options)
    print(check_model(model, "tagger").headline)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(STEPS):
        words = torch.randint(VOCABULARY, (4, POSITIONS))
        loss = model(input_ids=words, labels=words % options.labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}: loss {loss.item():.2f}")


if __name__ == "__main__":
    main()
