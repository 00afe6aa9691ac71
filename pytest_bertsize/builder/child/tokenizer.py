"""A stand-in for a tokenizer that is not in the project: it has a length and added tokens, and no vocabulary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
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
"""Special tokens by family, for families whose tokenizers have as many tokens as the word embeddings have rows.

Other families have other numbers: deberta-v2 has 128,100 rows for 128,001 tokens (huggingface/transformers#19301), t5
32,128 for 32,100 (#23199), camembert 32,005 for 32,004 (#2020), squeezebert 30,528 for BERT's 30,522, bart-large-cnn
50,264 for bart's 50,265 (#7346); layoutlm has BERT's tokenizer for one of its models and RoBERTa's for another.
"""
NEW = re.compile(
    r"(?!.unused\d|<extra_id_|<[ST]>|<\|endoftext\|>)(?:\[/?\w[^][]*\]|</?\w[^<>]*>|<\|[^<>|]+\|>|\{\w+\})", re.ASCII
)
"""Pattern of tokens in brackets, which a vocabulary of word pieces has not, except a few: Chinese BERT has ``<S>``."""
SPECIAL_KEYS = (
    *("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"),
    "additional_special_tokens",
)
"""Arguments of a tokenizer whose values are tokens; a token that the vocabulary lacks is added."""
OTHER_KEYS = re.compile(r"vocab|merges|_tokens?(?:_|$)|tokenizer_(?:file|object)")
"""Pattern of arguments that change the number of tokens by an amount that only the tokenizer knows."""
TAKEN: dict[str, int] = {}  # the assumed number of tokens of each missing tokenizer, by the tokenizer's name


class Tokenizer:
    """A tokenizer of unknown vocabulary; its length is known if its family is in :data:`SPECIAL`."""

    def __init__(self, name: str, config: Mapping[str, Any], given: Mapping[str, Any] = MappingProxyType({})) -> None:
        """:param config: the config of the tokenizer's model.

        :param given: the keyword arguments of the code's call.
        """
        family = str(config.get("model_type"))
        own = f"{family.replace('-', '')}tokenizer"
        has_own = str(config.get("tokenizer_class") or own).lower() in {own, f"{own}fast"}  # MiniLM has XLM-R's
        special = SPECIAL.get(family, ()) if has_own else ()
        vars(self).update(name_or_path=name, _config=config, _special=special, _added=set(), _given=given)

    def __len__(self) -> int:
        given = self._given
        vars(self).update(_given={})
        for key, value in given.items():
            if value and key in SPECIAL_KEYS:
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
            if token in self._special or token in self._added:
                continue
            # a tokenizer may write tokens in lower case
            if not NEW.fullmatch(token) or token.lower() in map(str.lower, self._added):
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
        folder = self.name_or_path.partition("@")[0].rpartition("/")[2]
        hub = f'hub = {{ "{self.name_or_path}" = "models/{folder}" }} in [tool.bertsize]'
        fix = "put the files of its tokenizer beside its config.json in the project"
        said = f"the tokenizer of {self.name_or_path!r} is not in the project, and is asked for {what}"
        refuse(Refused(said, f"{fix} (of a name of the hub: {hub})"))
