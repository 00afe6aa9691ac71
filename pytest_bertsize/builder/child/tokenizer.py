"""The stand-in for a tokenizer that is not there: it has a length and added tokens, and fails at any other use."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from pytest_bertsize.builder.confined import Refused, refuse

WORDPIECE = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SENTENCES = ("<s>", "</s>", "<unk>", "<pad>", "<mask>")
SPECIAL: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("bert", "distilbert", "electra", "mobilebert", "convbert"), WORDPIECE),
    **dict.fromkeys(("roberta", "xlm-roberta", "longformer", "data2vec-text"), SENTENCES),
    "albert": ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"),
    "gpt2": ("<|endoftext|>",),
}
"""Families whose tokenizers fill the rows of their word embeddings, and their special tokens.

Others do not: deberta-v2 has 128,100 rows for 128,001 tokens (huggingface/transformers#19301), t5 32,128 for 32,100
(#23199), camembert 32,005 for 32,004 (#2020), squeezebert 30,528 for BERT's 30,522, bart-large-cnn 50,264 for bart's
50,265 (#7346); layoutlm has BERT's tokenizer for one of its models and RoBERTa's for another.
"""
MARKER = re.compile(r"\[/?\w[^][]*\]|</?\w[^<>]*>|<\|[^<>|]+\|>|\{\w+\}", re.ASCII)
"""Tokens that are new to a vocabulary of words and their pieces, which splits words at brackets …"""
RESERVED = re.compile(r"\[unused\d+\]|<unused\d+>|<extra_id_\d+>|<[ST]>|<\|endoftext\|>")
"""… and those that some vocabularies have all the same: Chinese BERT has ``<S>``, RoBERTa has ``<|endoftext|>``."""

TAKEN: dict[str, int] = {}
"""Names whose tokenizers were taken to have as many tokens as the config has rows, and how many."""


class Tokenizer:
    """A tokenizer of a family whose tokenizers fill the rows, or of another, whose length is not known."""

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        """:param config: of the model that the tokenizer belongs to."""
        family = str(config.get("model_type"))
        own = f"{family.replace('-', '')}tokenizer"
        has_own = str(config.get("tokenizer_class") or own).lower() in {own, f"{own}fast"}  # MiniLM has XLM-R's
        special = SPECIAL.get(family, ()) if has_own else ()
        vars(self).update(_name=name, _config=config, _special=special, _added={})

    def __len__(self) -> int:
        return self.vocab_size + len(self._added)

    @property
    def vocab_size(self) -> int:
        size = self._config.get("vocab_size")
        if not self._special or type(size) is not int:
            family = self._config.get("model_type")
            self._refuse(f"its number of tokens, which a model of the family {family!r} does not say")
        TAKEN[self._name] = size
        return size

    def add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:  # noqa: FBT001, FBT002
        """Return how many are new, as the library does; it may write those that are not special in lower case."""
        before = len(self)
        for each in new_tokens if isinstance(new_tokens, (list, tuple)) else [new_tokens]:
            token = str(getattr(each, "content", each))
            if token in self._special:
                continue
            alike = {other for other in self._added if other.lower() == token.lower()} - {token}
            if not MARKER.fullmatch(token) or RESERVED.fullmatch(token) or (alike and not special_tokens):
                self._refuse(f"whether it has the token {token!r}")
            self._added[token] = None
        return len(self) - before

    def add_special_tokens(self, special_tokens_dict: Mapping[str, Any], *_: Any, **__: Any) -> int:
        """Return how many are new, as the library does."""
        return sum(self.add_tokens(tokens, special_tokens=True) for tokens in special_tokens_dict.values())

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("the tokens of a text")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse(name)

    def __setattr__(self, name: str, _: object) -> None:
        self._refuse(f"another {name}")

    def _refuse(self, what: str) -> NoReturn:
        is_folder = os.path.isdir(self._name)  # noqa: PTH112  (a name, as the library takes it)
        where = "into that folder" if is_folder else f"beside the config that hub names for {self._name!r}"
        said = f"the tokenizer of {self._name!r} is asked for {what}, and it is not in the project"
        refuse(Refused(f"{said}; put its tokenizer.json {where}"))
