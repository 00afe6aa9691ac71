"""A stand-in for a tokenizer that is not in the project: it has a length and added tokens, and no vocabulary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from pytest_bertsize.builder.confined import Refused, refuse

WORDPIECE = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SENTENCES = ("<s>", "</s>", "<unk>", "<pad>", "<mask>")
# Special tokens by family, for families whose tokenizers have as many tokens as the word embeddings have rows. Other
# families have not: deberta-v2 has 128,100 rows for 128,001 tokens (huggingface/transformers#19301), t5 32,128 for
# 32,100 (#23199), camembert 32,005 for 32,004 (#2020); layoutlm has the tokenizers of two families.
SPECIAL: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("bert", "distilbert", "electra", "mobilebert", "convbert"), WORDPIECE),
    **dict.fromkeys(("roberta", "xlm-roberta", "longformer", "data2vec-text"), SENTENCES),
    "albert": ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"),
    "gpt2": ("<|endoftext|>",),
}
# tokens in brackets, which a vocabulary of word pieces has not, except a few: Chinese BERT has ``<S>``
NEW = re.compile(
    r"(?!.unused\d|<extra_id_|<[ST]>|<\|endoftext\|>)(?:\[/?\w[^][]*\]|</?\w[^<>]*>|<\|[^<>|]+\|>|\{\w+\})", re.ASCII
)
SPECIAL_KEYS = re.compile("(bos|eos|unk|sep|pad|cls|mask)_token|additional_special_tokens")  # arguments that add tokens
OTHER_KEYS = re.compile(r"vocab|merges|_tokens?(?:_|$)|tokenizer_(?:file|object)")  # that add an unknown number
TAKEN: dict[str, int] = {}  # the assumed number of tokens of each missing tokenizer, by the tokenizer's name


class Tokenizer:
    """A tokenizer of unknown vocabulary; its length is known if its family is in :data:`SPECIAL`."""

    def __init__(self, name: str, config: Mapping[str, Any], given: Mapping[str, Any] = MappingProxyType({})) -> None:
        """:param given: the keyword arguments of the code's call."""
        family = str(config.get("model_type"))
        own = f"{family.replace('-', '')}tokenizer"
        has_own = str(config.get("tokenizer_class") or own).lower() in {own, f"{own}fast"}  # MiniLM has XLM-R's
        special = SPECIAL.get(family, ()) if has_own else ()
        vars(self).update(name_or_path=name, _config=config, _special=special, _added=set(), _given=given)

    def __len__(self) -> int:
        given = self._given
        vars(self).update(_given={})
        for key, value in given.items():
            if value and SPECIAL_KEYS.fullmatch(key):
                self.add_tokens(value)
            elif value and value is not True and OTHER_KEYS.search(key):
                self._refuse(f"its number of tokens with {key}")
        return self.vocab_size + len(self._added)

    @property
    def vocab_size(self) -> int:
        size = self._config.get("vocab_size")
        if not self._special or type(size) is not int:
            family = self._config.get("model_type")
            self._refuse(f"its number of tokens, which a config of the family {family!r} does not have")
        TAKEN[self.name_or_path] = size
        return size

    def add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:  # noqa: ARG002, FBT001, FBT002
        """Add tokens, and return how many are new; refuse any that the missing vocabulary may have."""
        before = len(self)
        for each in new_tokens if isinstance(new_tokens, (list, tuple)) else [new_tokens]:
            token = str(getattr(each, "content", each))
            if token not in self._special and token not in self._added:
                if not NEW.fullmatch(token) or token.lower() in map(str.lower, self._added):  # it may lower the case
                    self._refuse(f"the token {token!r}, which its vocabulary may or may not have")
                self._added.add(token)
        return len(self) - before

    def add_special_tokens(self, special_tokens_dict: Mapping[str, Any], *_: Any, **__: Any) -> int:
        return sum(map(self.add_tokens, special_tokens_dict.values()))

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("the tokens of a text")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse(name)

    def __setattr__(self, name: str, _: object) -> None:
        self._refuse(f"another {name}")

    def _refuse(self, what: str) -> NoReturn:
        name = self.name_or_path
        hub = f'hub = {{ "{name}" = "models/{name.partition("@")[0].rpartition("/")[2]}" }} in [tool.bertsize]'
        fix = f"put the files of its tokenizer beside its config.json in the project (of a name of the hub: {hub})"
        refuse(Refused(f"the tokenizer of {name!r} is not in the project, and is asked for {what}", fix))
