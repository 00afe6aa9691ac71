"""The keys of a config: those that a family reads, that change no count, that are refused, and that are withheld."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.dtypes import OF_PARAMETERS
from pytest_bertsize.wording import BadValue, did_you_mean, exact, number, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.dims import Dims
    from pytest_bertsize.findings import Finding, Kind
    from pytest_bertsize.release import Release


NAMED_BY_LABELS = ("id2label", "label2id")  # objects with one entry per label, which may be many

# the names that transformers knows (``ACT2FN``); ``prelu`` and ``xielu`` have parameters
ACTIVATIONS = frozenset(
    "gelu gelu_10 gelu_fast gelu_new gelu_python gelu_pytorch_tanh gelu_python_tanh gelu_accurate hardswish laplace "
    "leaky_relu linear mish quick_gelu relu relu2 relu6 sigmoid silu sqrtsoftplus swish tanh prelu xielu".split()
)

# keys that change no count, but that the class gets, since it may refuse their values; overrides may set them
PASSED = frozenset(
    "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout initializer_range layer_norm_eps pad_token_id "
    "bos_token_id eos_token_id use_cache problem_type chunk_size_feed_forward".split()
)

# keys of published configs that change no count, and that the config class never gets
WITHHELD = frozenset(
    # the origin of the file
    "model_type architectures transformers_version name_or_path _name_or_path _commit_hash tokenizer_class "
    "_num_labels sbert_ce_default_activation_function sentence_transformers transformers.js_config "
    # hydra's: the class that a training script makes of it
    "_target_ _partial_ _recursive_ _convert_ "
    # the number format and the code, which transformers looks up, loads or fetches
    "dtype torch_dtype quantization_config "
    "attn_implementation _attn_implementation _attn_implementation_autoset".split()
)

# keys of published configs that change no count
INERT = WITHHELD | frozenset(
    "finetuning_task task_specific_params label2id tf_legacy_loss torchscript use_bfloat16 use_return_dict xla_device "
    "language name "
    # how the model runs
    "gradient_checkpointing return_dict output_attentions output_hidden_states output_past is_encoder_decoder "
    "tie_encoder_decoder cross_attention_hidden_size "
    # Google's Chinese BERT
    "directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type "
    # the tokenizer's
    "cls_token_id eos_token_ids mask_token_id sep_token_id unk_token_id "
    # generation
    "bad_words_ids begin_suppress_tokens decoder_start_token_id diversity_penalty do_sample early_stopping "
    "encoder_no_repeat_ngram_size exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id "
    "length_penalty max_length min_length no_repeat_ngram_size num_beam_groups num_beams num_return_sequences "
    "output_scores prefix remove_invalid_values repetition_penalty return_dict_in_generate "
    "suppress_tokens temperature top_k top_p typical_p".split()
)

# keys that steer transformers itself: with them the library may build another model than the file describes
REFUSED = {
    "attribute_map": "it renames the other keys of its file",
    "auto_map": "it names code to run in place of the library's class",
    "configuration_files": "it names another file to read in place of this one",
    "per_layer_config": "it gives single layers other sizes, which the class ignores",
    "trust_remote_code": "a config does not decide whether code runs",
}

IMPLEMENTATIONS = ("attn_implementation", "experts_implementation")  # a repository's name there runs its code
DTYPES = frozenset(("None", "auto", "double", "float", "half", *OF_PARAMETERS))  # any other is looked up in torch

# the names that libraries give to each size, by its symbol; a family reads one name and ignores the others
SYNONYMS = {
    "V": ("vocab_size", "n_vocab", "vocabulary_size", "n_words", "n_token"),
    "D": ("hidden_size", "d_model", "n_embd", "dim", "hidden_dim", "embed_dim", "emb_dim"),
    "L": ("num_hidden_layers", "num_layers", "n_layers", "n_layer", "encoder_layers"),
    "A": ("num_attention_heads", "num_heads", "n_heads", "n_head", "encoder_attention_heads"),
    "I": tuple("intermediate_size d_ff d_inner ffn_dim intermediate_dim feed_forward_size encoder_ffn_dim".split()),
    "P": ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_length", "max_seq_len"),
    "T": ("type_vocab_size", "num_segments", "token_type_vocab_size", "num_token_types"),
    "C": ("num_labels", "n_labels", "num_classes", "n_classes"),
}

LABELS = "C"  # the symbol of ``num_labels``

LARGEST_SIZE = 10**9
MOST_LAYERS = 1_000  # the most layers of a model: a layer takes 1.3 ms to build, so that 10⁵ layers would take minutes
LONGEST_LIST = 1_000  # the most entries of a list: each is at least one module, which takes time to build
MOST_LABELS = 100_000  # transformers makes a name for each label, and 10⁸ names end in a MemoryError
_WORD = re.compile(r"\w{1,100}")
# messages for a wrong size, each with its fix; a run and the what-if page use them
NOT_WHOLE = "{key} is {value}, which is not a whole number", "write one, as in {example}"
TOO_SMALL = "{key} is {value}: a size is at least {least}", "write a size, as in {example}"
TOO_LARGE = "{key} is {value}, more than {most}", "write the size that the model has"
TOO_DEEP = "{key} is {value}: more than {most} layers are not built", "write the number of layers that the model has"


class WrongValue(BadValue):
    """The error for a value that its key cannot have."""

    def __init__(self, message: str, fix: str, kind: Kind = "config-invalid") -> None:
        super().__init__(message, fix)
        self.kind = kind


class Size(NamedTuple):
    """A key that holds a dimension."""

    key: str
    symbol: str
    default: int | None  # the value of a missing key; ``None`` if the library then takes another size in its place
    repeats: bool = False  # true if the size is a number of layers, each of which takes time to build
    minimum: int = 1
    aliases: tuple[str, ...] = ()  # other names that the config class itself replaces (its attribute_map)
    unread: tuple[str, ...] = ()  # other names that only later releases read; harmless if the file has the key too

    def read(self, value: Any) -> int | None:
        """Return the size; raise :class:`WrongValue` for anything else, as every key does."""
        if value is None and self.default is None:
            return None
        most = MOST_LABELS if self.symbol == LABELS else LARGEST_SIZE
        kind: Kind = "config-invalid"
        if type(value) is not int:
            why = NOT_WHOLE
        elif value < self.minimum:
            why = TOO_SMALL
        elif value > most:
            why, kind = TOO_LARGE, "config-refused"
        elif self.repeats and value > MOST_LAYERS:
            why, kind, most = TOO_DEEP, "config-refused", MOST_LAYERS
        else:
            return value
        said = {"key": self.key, "least": self.minimum, "most": exact(most), "example": self.default or self.minimum}
        said["value"] = number(value) if type(value) is int else shown(value)
        message, fix = (each.format_map(said) for each in why)
        raise WrongValue(message, fix, kind)


class Switch(NamedTuple):
    """A key that turns part of the model on or off."""

    key: str
    default: bool
    needs: str = ""  # another switch, which must be true if this one is, else the config class refuses the config
    null: bool = False  # true if the library accepts ``null``, which then means the default

    def read(self, value: Any) -> bool:
        if type(value) is bool or (value is None and self.null):
            return self.default if value is None else value
        raise WrongValue(f"{self.key} is {shown(value)}, not true or false", "write true or false")


class Choice(NamedTuple):
    """A key that holds one of a few words, or ``null`` if that is the library's default."""

    key: str
    default: str | None
    words: Collection[str]
    null: bool = False  # true if ``null`` is allowed, although it is not the default
    taken_for: Mapping[str, str] = MappingProxyType({})  # what the config class takes a word of the file for

    def read(self, value: Any) -> str | None:
        if value is None and (self.null or self.default is None):
            return None
        if isinstance(value, str) and value in self.words:
            return self.taken_for.get(value, value)
        fix = did_you_mean(value, self.words, f"write {self.default or min(self.words)!r}, for example")
        raise WrongValue(f"{self.key} is {shown(value)}, which transformers does not know", fix)


class Listing(NamedTuple):
    """A key that holds a list of whole numbers, each at least 1, or of words."""

    key: str
    default: tuple[int, ...] | tuple[str, ...]
    of: type[int | str]
    words: Collection[str] = ()  # the allowed words; empty: any word of letters, digits and underscores
    separator: str = ""  # the separator of words in a file that writes them as one string: ``"c2p|p2c"``
    as_long_as: str = ""  # another list; if key is missing or null, it is as long as that one, and each entry is 1
    may_be_empty: bool = True

    def read(self, value: Any) -> tuple[Any, ...]:
        if value is None and (self.as_long_as or not self.default):
            return self.default
        entries: Any = value.split(self.separator) if self.separator and isinstance(value, str) else value
        kind: Kind = "config-refused"
        is_list = isinstance(entries, list | tuple) and bool(entries or self.may_be_empty)
        if not is_list or not all(map(self._is_entry, entries)):
            words = "known words" if self.words else "words"
            what = "whole numbers, each at least 1" if self.of is int else words
            message, kind = f"{self.key} is {shown(value)}, not a list of {what}", "config-invalid"
        elif len(entries) > LONGEST_LIST:
            message = f"{self.key} has {len(entries):,} entries, more than {LONGEST_LIST:,}"
        elif self.of is int and sum(entries) > LARGEST_SIZE:
            message = f"the numbers of {self.key} sum to {number(sum(entries))}, more than {LARGEST_SIZE:,}"
        else:
            return tuple(entries)
        raise WrongValue(message, f"write {shown(list(self.default or self.words))}, for example", kind)

    def _is_entry(self, entry: Any) -> bool:
        if self.of is int:
            return type(entry) is int and entry > 0
        return isinstance(entry, str) and (entry in self.words if self.words else bool(_WORD.fullmatch(entry)))


class Index(NamedTuple):
    """A key that names a row of the embeddings, which must exist; ``null`` names none. It changes no count."""

    key: str
    default: int

    def read(self, value: Any) -> int | None:
        if value is None or (type(value) is int and abs(value) <= LARGEST_SIZE):
            return value
        raise WrongValue(f"{self.key} is {shown(value)}, which is not an index", f"write one, as in {self.default}")


Key: TypeAlias = Size | Switch | Choice | Listing | Index


class Rule(NamedTuple):
    """A condition on the values of several keys; if it fails, the class refuses them or builds another model."""

    keys: tuple[str, ...]  # keys of the condition; a message names the line of the first
    holds: Callable[[Mapping[str, Any]], bool]  # returns whether the values by key meet the condition
    message: str  # the message if the condition is not met: a format string for the values by key
    fix: str

    def below(self, place: str) -> Rule:
        """Return this rule for a larger model's config, where its keys have a prefix, as in ``"encoder."``."""

        def holds(values: Mapping[str, Any]) -> bool:
            return self.holds({key.removeprefix(place): each for key, each in values.items() if key.startswith(place)})

        return self._replace(keys=tuple(f"{place}{key}" for key in self.keys), holds=holds)


class Ignored(NamedTuple):
    """A key that looks as if it changed a count, and does not."""

    harmless: tuple[object, ...] = ()  # values that need no warning
    because: str = "transformers ≥ 5 builds the same model without it"
    cost: Callable[[Any, Dims], int | None] | None = None  # returns the parameters that the value would have added
    fix: str = "remove it"
    only: tuple[str, ...] = ()  # ends of the names of the classes to which ``cost`` applies; empty: all classes


def multiple(key: str, of: str) -> Rule:
    """Require one size to be a multiple of another, as the width is of the number of heads."""
    message = f"{key} {{{key}:,}} is not a multiple of {of} {{{of}:,}}"
    return Rule((key, of), lambda values: values[key] % values[of] == 0, message, f"write a multiple of {{{of}:,}}")


def same(key: str, of: str) -> Rule:
    """Require two sizes to be equal, as in a class that asserts that embeddings are as wide as layers."""
    message = f"{key} is {{{key}:,}} and {of} {{{of}:,}}: the class refuses different values"
    return Rule((key, of), lambda values: values[key] == values[of], message, f'write "{key}": {{{of}}}')


class Refused(NamedTuple):
    """A key that changes the build in a way that no closed form describes."""

    harmless: tuple[object, ...]
    because: str
    fix: str


class Until(NamedTuple):
    """A change of a family's keys that came with a release of transformers."""

    release: tuple[int, ...]  # the first release with the change
    change: Callable[[ConfigKeys], ConfigKeys]  # gets the later keys and returns those of earlier releases
    source: str  # the address of the change in the library, or of the file that has it


_KINDS = ("sizes", "switches", "choices", "lists", "indices")  # the fields of ConfigKeys whose values are read


class ConfigKeys(Struct, frozen=True, dict=True):
    """All that a family reads from its config."""

    sizes: tuple[Size, ...]
    switches: tuple[Switch, ...] = ()
    choices: tuple[Choice, ...] = ()
    lists: tuple[Listing, ...] = ()
    indices: tuple[Index, ...] = ()
    divisible: tuple[tuple[str, str], ...] = ()  # pairs of size keys: the first must be a multiple of the second
    equal: tuple[tuple[str, str], ...] = ()  # pairs of size keys that the class refuses unless they are equal
    rules: tuple[Rule, ...] = ()
    ignored: Mapping[str, Ignored] = {}  # keys that look as if they changed a count, and do not
    labels: int = 2  # the default of ``num_labels``
    inert: frozenset[str] = frozenset()  # keys that change no count; the class may refuse their values
    open: bool = False  # true if the project's own code may read unknown keys, so that they need no warning
    until: tuple[Until, ...] = ()  # changes of the keys since older releases, which ``at`` undoes
    refused: Mapping[str, Refused] = {}  # keys with values that no closed form describes
    padding: Index | None = None  # the key of the padding row, after which positions begin; None: at the first row

    def at(self, release: Release, everywhere: tuple[Until, ...] = ()) -> ConfigKeys:
        """Return the keys as a release of transformers reads them: later changes are undone, the latest first."""
        found = self
        for each in sorted((*everywhere, *self.until), key=lambda each: each.release, reverse=True):
            found = each.change(found) if release < each.release else found
        return found

    def below(self, place: str, suffix: str = "") -> ConfigKeys:
        """Return the keys with a prefix, and symbols with a suffix, as a larger model's config has them."""
        sizes = tuple(each._replace(symbol=f"{each.symbol}{suffix}", aliases=(), unread=()) for each in self.sizes)
        own = replace(self, sizes=sizes, rules=tuple(rule.below(place) for rule in self.rules))
        changes: dict[str, Any] = {
            kind: tuple(each._replace(key=f"{place}{each.key}") for each in getattr(own, kind)) for kind in _KINDS
        }
        for pairs in ("divisible", "equal"):
            changes[pairs] = tuple((f"{place}{one}", f"{place}{other}") for one, other in getattr(own, pairs))
        return replace(own, **changes)

    @property
    def own(self) -> dict[str, Key]:
        """The keys whose values the family reads, by their names."""
        return {each.key: each for kind in _KINDS for each in getattr(self, kind)}

    @cached_property
    def aliases(self) -> dict[str, str]:
        """The key for which each alias stands."""
        return {alias: size.key for size in self.sizes for alias in size.aliases}

    @cached_property
    def key_of_symbol(self) -> dict[str, str]:
        return {**{size.symbol: size.key for size in self.sizes}, LABELS: "num_labels"}

    @cached_property
    def unread(self) -> dict[str, str]:
        """The key that is meant by each name that only later releases read."""
        return {name: size.key for size in self.sizes for name in size.unread}

    @cached_property
    def meaningful(self) -> frozenset[str]:
        return frozenset((*self.own, *self.aliases, "num_labels", "id2label"))

    @cached_property
    def all_ignored(self) -> Mapping[str, Ignored]:
        """The keys in :attr:`ignored`, and the one that transformers 4 writes into every config."""
        ignored = {"pruned_heads": Ignored(({}, None)), **self.ignored}
        return {key: each for key, each in ignored.items() if key not in self.refused}

    @cached_property
    def known(self) -> frozenset[str]:
        """Every key that changes a count, or that is known to change none."""
        return self.meaningful.union(self.unread, self.all_ignored, self.refused, self.inert, INERT, PASSED)

    @cached_property
    def all_rules(self) -> tuple[Rule, ...]:
        return (*(multiple(*pair) for pair in self.divisible), *(same(*pair) for pair in self.equal), *self.rules)


class Asks(Protocol):
    """The demands of an architecture on its config, beyond those of its family."""

    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> bool:
        """True if the architecture has ``num_labels`` outputs."""

    @property
    def rules(self) -> tuple[Rule, ...]: ...


class Values(NamedTuple):
    """The values that a config has for a family's keys, the table's overrides included."""

    sizes: dict[str, int | None]  # sizes by symbol
    switches: dict[str, Any]  # booleans, words and tuples by key
    for_build: dict[str, object]  # arguments of the config class: the values under the names in the file
    findings: tuple[Finding, ...]  # warnings alone: with an error no values are returned
    # what the closed form assumes by key, ``encoder.hidden_size`` for one in an object, defaults too; a missing size is
    # left out if the library takes another size in its place
    assumed: Mapping[str, object] = MappingProxyType({})
    unknown: tuple[str, ...] = ()  # keys of the file that the family does not know, and the config class does not get


def explain_refusal(key: str, value: object) -> str:
    """Return why a config may not have a key, ``""`` if it may."""
    if key.startswith("__"):
        return "Python itself has that name"
    if _says_which_code(key) and "/" in str(value):
        return f"{shown(value)} is code to fetch and to run in place of the library's own"
    formats = value.values() if isinstance(value, dict) else (value,)
    if key in {"dtype", "torch_dtype"} and any(str(each).removeprefix("torch.") not in DTYPES for each in formats):
        return f"{shown(value)} is not a number format of torch"
    if key == "quantization_config" and not isinstance(value, dict | None):  # the library cannot even print the config
        return f"{shown(value)} is not an object"
    return REFUSED.get(key, "")


def is_withheld(key: str) -> bool:
    """Return whether the library never gets a key: it is about the file's origin, the number format or the code."""
    return key in WITHHELD or _says_which_code(key)


def _says_which_code(key: str) -> bool:
    return any(part in key for part in IMPLEMENTATIONS)


def withhold_steering_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the keys that steer the library, in nested objects too."""
    kept = {key: value for key, value in config.items() if not is_withheld(key) and not explain_refusal(key, value)}
    return {key: value if key in NAMED_BY_LABELS else _withhold_inside(value) for key, value in kept.items()}


def _withhold_inside(value: Any) -> Any:
    if isinstance(value, list):
        return [_withhold_inside(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {**{key: value[key] for key in ("model_type",) if key in value}, **withhold_steering_keys(value)}


def to_snake_case(key: str) -> str:
    """Return ``num_hidden_layers`` for ``numHiddenLayers`` and for ``num-hidden-layers``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower().replace("-", "_")


def find_synonym(key: str, own_by_symbol: Mapping[str, str]) -> str:
    """Return the family's own key for a size that other libraries call ``key``; ``""`` if there is none."""
    name = to_snake_case(key)
    known = (own for symbol, own in own_by_symbol.items() if name in SYNONYMS.get(symbol, ()) and name != own)
    return next(known, "")
