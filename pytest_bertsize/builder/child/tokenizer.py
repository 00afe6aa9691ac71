"""In place of a tokenizer that is not there: as much of one as building a model asks for, and a word on the rest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.confined import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WORDPIECE = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
"""Devlin et al. 2018; ALBERT has ``<pad>`` and ``<unk>`` among them."""
SENTENCES = {"bos": "<s>", "eos": "</s>", "sep": "</s>", "cls": "<s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}
"""Liu et al. 2019 (RoBERTa), and what followed it."""
SPECIAL: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("bert", "distilbert", "electra", "mobilebert", "convbert"), WORDPIECE),
    **dict.fromkeys(("roberta", "xlm-roberta", "longformer", "data2vec-text"), SENTENCES),
    "albert": {**WORDPIECE, "pad": "<pad>", "unk": "<unk>", "bos": "[CLS]", "eos": "[SEP]"},
    "gpt2": {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "unk": "<|endoftext|>"},
}
"""Families whose tokenizers fill the rows of their word embeddings, and their tokens that are no words.

Others do not: deberta-v2 has 128,100 rows for 128,001 tokens (huggingface/transformers#19301), t5 32,128 for 32,100
(#23199), camembert 32,005 for 32,004 (#2020), squeezebert 30,528 for BERT's 30,522, bart-large-cnn 50,264 for bart's
50,265 (#7346); layoutlm has BERT's tokenizer for one of its models and RoBERTa's for another.
"""
MARKER = re.compile(r"(\[/?\w[^\[\]]*\]|</?\w[^<>]*>|<\|[^<>|]+\|>|\{\w+\})", re.ASCII)
"""What a vocabulary of words and their pieces never holds as one: they are split at brackets."""
UNUSED = re.compile(r"\[unused\d+\]|<unused\d+>|<extra_id_\d+>|madeupword\d+")
"""Rows that are kept free."""


class StandIn:
    """What a tokenizer says of its size; whatever else it is asked for is refused, by name."""

    def __init__(self, name: str, config: Mapping[str, Any], taken: dict[str, int]) -> None:
        """:param config: of the model that the tokenizer belongs to.
        :param taken: is told the size that it was taken to have, once somebody asks.
        """
        family = config.get("model_type")
        known = SPECIAL.get(family) if isinstance(family, str) and _is_its_own(family, config) else None
        state: dict[str, Any] = {
            "_name": name,
            "_family": family,
            "_config": config,
            "_taken": taken,
            "_special": {**known} if known is not None else None,
            "_added": [],
            "name_or_path": name,
            "model_max_length": config.get("max_position_embeddings"),
            "padding_side": "right",
            "is_fast": True,
        }
        vars(self).update(state)

    def __len__(self) -> int:
        return self.vocab_size + len(self._added)

    @property
    def vocab_size(self) -> int:
        """The rows of the word embeddings, where the family's tokenizers fill them."""
        size = self._config.get("vocab_size")
        if self._special is None or type(size) is not int:
            raise _refused(
                self._name, f"its number of tokens, which a model of the family {self._family!r} does not say"
            )
        self._taken[self._name] = size
        return size

    @property
    def all_special_tokens(self) -> list[str]:
        return list(dict.fromkeys([*(self._special or {}).values(), *self._added]))

    def add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:  # noqa: FBT001, FBT002, ARG002
        """As the library's: how many of them are new."""
        tokens = new_tokens if isinstance(new_tokens, (list, tuple, set, frozenset)) else [new_tokens]
        return self._add([str(getattr(each, "content", each)) for each in tokens])

    def add_special_tokens(self, special_tokens_dict: Mapping[str, Any], *_: Any, **__: Any) -> int:
        """As the library's: how many of them are new."""
        added = 0
        for key, value in special_tokens_dict.items():
            added += self.add_tokens(value)
            if isinstance(key, str) and key.endswith("_token") and self._special is not None:
                self._special[key[: -len("_token")]] = str(getattr(value, "content", value))
        return added

    def _add(self, tokens: Iterable[str]) -> int:
        size = len(self)
        for token in tokens:
            if token in self._added or token in (SPECIAL.get(self._family) or {}).values():
                continue
            if not MARKER.fullmatch(token) or UNUSED.fullmatch(token):
                raise _refused(self._name, f"whether it has the token {token!r}")
            self._added.append(token)
        return len(self) - size

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        if isinstance(tokens, (list, tuple)):
            return [self.convert_tokens_to_ids(each) for each in tokens]
        if tokens in self._added:
            return self.vocab_size + self._added.index(tokens)
        raise _refused(self._name, f"the id of the token {tokens!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name.endswith("_token") and self._special is not None and value is not None:
            if value not in self._special.values() and value not in self._added:
                raise _refused(self._name, f"whether it has the token {value!r}")
            self._special[name[: -len("_token")]] = value
        vars(self)[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        special, kind = self._special or {}, name[: -len("_token")]
        if name.endswith("_token") and self._special is not None:
            return special.get(kind)
        if name.endswith("_token_id"):
            return self._id_of(name, special.get(name[: -len("_token_id")]))
        raise _refused(self._name, name)

    def _id_of(self, name: str, token: str | None) -> int | None:
        if token in self._added:
            return self.vocab_size + int(self._added.index(token))
        for key in (name, "eos_token_id", "bos_token_id"):
            same = key == name or (token is not None and (self._special or {}).get(key[: -len("_token_id")]) == token)
            if same and type(self._config.get(key)) is int:
                return int(self._config[key])
        if self._special is not None and token is None:
            return None
        raise _refused(self._name, name)

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise _refused(self._name, "the tokens of a text")

    def encode(self, *_: Any, **__: Any) -> Ids:
        """Ids that can be kept, as a list of words to skip is: nothing can be made of them."""
        return Ids(self._name)


class Ids:
    """Ids of a text that only the tokenizer itself knows, or one of them: none can become a size."""

    def __init__(self, name: str) -> None:
        """:param name: of the tokenizer."""
        self._name = name

    def __getitem__(self, place: Any) -> Ids:
        return Ids(self._name)

    def _asked(self, *_: Any) -> Any:
        raise _refused(self._name, "the tokens of a text")

    __len__ = __iter__ = __int__ = __index__ = __bool__ = __float__ = __eq__ = __ne__ = __lt__ = __gt__ = _asked
    __le__ = __ge__ = __contains__ = __add__ = __radd__ = __sub__ = __mul__ = __str__ = __format__ = _asked
    __hash__ = object.__hash__


def _is_its_own(family: str, config: Mapping[str, Any]) -> bool:
    """Not so where ``tokenizer_class`` says another family's: multilingual MiniLMs are BERTs with XLM-R's tokens."""
    said = config.get("tokenizer_class")
    own = f"{family.replace('-', '')}tokenizer"
    return said is None or (isinstance(said, str) and said.lower() in {own, f"{own}fast"})


def _refused(name: str, what: str) -> Refused:
    return Refused(
        f"the tokenizer of {name!r} is asked for {what}, and it is not in the project; "
        f"put its tokenizer.json beside the config that hub names for {name!r}"
    )
