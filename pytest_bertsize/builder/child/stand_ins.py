"""Stand-ins for names that the project's code imports and that are not installed; code that uses one fails."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import Any, NoReturn, cast
from unittest.mock import patch

from pytest_bertsize.builder.confined import Refused, refuse
from pytest_bertsize.wording import MOST_NAMED, listed

MORE = "lt le gt ge str format bytes fspath matmul rmatmul next enter exit await aiter aenter aexit mro_entries"
OPERATIONS = {each for kind in (int, list, dict, set) for each in vars(kind) if each.startswith("__")}
OPERATIONS -= {*vars(object), "__getnewargs__"}  # of every object, of a copy
OPERATIONS |= {f"__{each}__" for each in f"{MORE} instancecheck subclasscheck".split()}
STOOD_IN: dict[str, dict[str, None]] = {}  # each kind of stand-in, in words, and the replaced names, as keys
ADDED: list[str] = []  # missing names that this process found while it ran code of the project
CALLED_AT_IMPORT = "not installed, and called at import, which returned nothing"
EXTENSIONS = "torch.utils.cpp_extension"
THERE = '(python = ".venv/bin/python" in [tool.bertsize] names the interpreter)'


def note_stand_in(what: str, name: str) -> None:
    STOOD_IN.setdefault(what, {})[name] = None


def describe_stand_ins(found: Mapping[str, Iterable[str]] = STOOD_IN) -> tuple[str, ...]:
    """Return a sentence for each kind of stand-in: ``not installed and not used: wandb, apex``."""
    return tuple(f"{what}: {listed([*names], MOST_NAMED)}" for what, names in found.items())


class StandIn:
    """A stand-in for a module that is not installed, or for a name in a module."""

    def __init__(self, name: str) -> None:
        vars(self).update(__name__=name, __path__=[], __spec__=ModuleSpec(name, None))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return vars(self).setdefault(name, type(self)(f"{self.__name__}.{name}"))

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Return another stand-in while a file is imported, as for ``log = get_logger()``; fail anywhere else."""
        self._fail_unless_imported()
        if type(self) is StandIn:
            note_stand_in(CALLED_AT_IMPORT, self.__name__)
        return Result(f"{self.__name__}(…)")

    def __setitem__(self, *_: object) -> None:
        """Do nothing while a file is imported, as for ``rcParams["figure.dpi"] = 150``; fail anywhere else."""
        self._fail_unless_imported()
        note_stand_in("not installed, and set at import without effect", self.__name__)

    def __or__(self, other: object) -> Any:
        """Return another stand-in while a file is imported, as for an annotation ``Run | None``; fail anywhere else."""
        self._fail_unless_imported()
        return Result(f"{self.__name__} | …")

    __ror__ = __or__
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        """Compare by identity if ``typing`` asks, as for ``Optional[Run]``; fail anywhere else."""
        if sys._getframe(1).f_globals.get("__name__") != "typing":
            self._fail()
        return self is other

    def _fail_unless_imported(self) -> None:
        """Fail unless the frame of the calling code is that of the top level of a file, or of the body of a class."""
        frame = sys._getframe(2)  # noqa: SLF001
        if frame.f_code.co_name != "<module>" and "__qualname__" not in frame.f_locals:
            self._fail()

    def _fail(self, *_: Any, **__: Any) -> NoReturn:
        library = self.__name__.partition(".")[0]
        what, fix = "not installed", f"install it there {THERE}"
        if not isinstance(sys.modules.get(library, self), StandIn):
            what = f"missing from the {library} installed"
            fix = f"write the name that it has there, or install a release that has this one {THERE}"
        refuse(Refused(f"{self.__name__} is used, but {what} where the model is built", fix))


class Result(StandIn):
    """The result of a stand-in that is called at import; no model may have it, as the real result could be a layer."""


for _operation in OPERATIONS:
    if _operation not in vars(StandIn):
        setattr(StandIn, _operation, StandIn._fail)  # noqa: SLF001


def run_with_stand_ins(run: Callable[[], Any], is_own: Callable[[str], bool]) -> Any:
    """Run code of the project; if a name that is not installed stops it, put a stand-in there and run it again.

    If the code catches the error of a missing name, that name gets no stand-in. A stopped run leaves its effects, so
    the caller ignores the result, and starts a new process with stand-ins for the names in :data:`ADDED`.

    :param is_own: returns whether a module is the project's own; such a module gets no stand-in.
    """
    for _ in range(100):
        before = {*sys.modules}
        try:
            return run()
        except (ImportError, AttributeError) as error:
            name = _find_missing_name(error)
            path, _, last = name.rpartition(".")
            is_there = name in sys.modules and (not path or hasattr(sys.modules.get(path), last))
            if not name or is_own(name) or is_there:
                raise
        if name not in sys.modules:  # transformers 5 may replace its module, and lose the names put there
            ADDED.append(name)
        stand_in_for(name)
        for each in {*sys.modules} - before:
            if is_own(each):
                del sys.modules[each]
    return run()


def stand_in_for(name: str) -> None:
    """Put a stand-in where a module, or a name in a module, is missing."""
    path, _, last = name.rpartition(".")
    if path:
        with contextlib.suppress(ImportError):
            importlib.import_module(path)
    holder = sys.modules.get(path)
    sys.modules[name] = found = cast("Any", StandIn(name))
    if holder is not None:
        setattr(holder, last, found)
    if not isinstance(holder, StandIn):
        library = name.partition(".")[0]
        has_library = library != name and not isinstance(sys.modules.get(library, found), StandIn)
        where = f"not in the installed {library}" if has_library else "not installed"
        note_stand_in(f"{where} and not used", name)


def _find_missing_name(error: ImportError | AttributeError) -> str:
    """Return the dotted name of a missing module, or of a missing name in one; ``""`` for any other error."""
    if isinstance(error, ModuleNotFoundError):
        return error.name or ""
    if isinstance(error, ImportError):
        if str(error).startswith("TensorBoard logging requires"):
            return "torch.utils.tensorboard"
        found = re.match(r"cannot import name '(\w+)'", str(error))
        return f"{error.name}.{found[1]}" if found and error.name else ""
    holder = getattr(error, "obj", None)
    return f"{holder.__name__}.{error.name}" if isinstance(holder, (ModuleType, StandIn)) else ""


# a model stays where it is built, and nothing is compiled


@contextlib.contextmanager
def keep_in_place() -> Iterator[None]:
    """Let ``model.to(device)``, ``model.cuda()`` and ``torch.cuda.set_device`` do nothing.

    No extension is compiled. Weights that ``torch.hub`` would fetch are not loaded, because they change no shape.
    """
    import torch

    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(torch.cuda, "set_device", lambda _: None))
        for owner in (torch.nn.Module, torch.Tensor):
            stack.enter_context(patch.object(owner, "to", _convert_only(owner.to)))
            for name in ("cuda", "cpu"):
                stack.enter_context(patch.object(owner, name, lambda self, *_, **__: self))
        name, fetch = "load_state_dict_from_url", torch.hub.load_state_dict_from_url
        for module in [*sys.modules.values()]:  # torchvision has a name of its own for it
            if getattr(module, "__dict__", {}).get(name) is fetch:
                stack.enter_context(patch.object(module, name, fetch_no_weights))
        load = torch.nn.Module.load_state_dict
        stack.enter_context(patch.object(torch.nn.Module, "load_state_dict", _load_unless_fetched(load)))
        if EXTENSIONS not in sys.modules:
            compiler = sys.modules[EXTENSIONS] = cast("Any", StandIn(EXTENSIONS))
            compiler.load = compiler.load_inline = load_extension
            stack.callback(sys.modules.pop, EXTENSIONS, None)
        yield


def load_extension(name: str, *_: object, **__: object) -> StandIn:
    """Replace ``torch.utils.cpp_extension.load``, and compile nothing."""
    note_stand_in("extensions not compiled and not used", name)
    return StandIn(name)


class Fetched(dict[str, Any]):
    """An empty state dict in place of weights that were not fetched from their URL."""


def fetch_no_weights(url: str, *_: object, **__: object) -> Fetched:
    """Replace ``torch.hub.load_state_dict_from_url``, and fetch nothing."""
    note_stand_in("weights not fetched and not loaded", url.rpartition("/")[2])
    return Fetched()


def _load_unless_fetched(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``load_state_dict`` that ignores weights that were not fetched."""

    def load_state_dict(self: Any, state_dict: Any, *arguments: Any, **named: Any) -> Any:
        given = self.state_dict() if isinstance(state_dict, Fetched) else state_dict
        return own(self, given, *arguments, **named)

    return load_state_dict


def _convert_only(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``to`` that changes the dtype and never the device."""
    import torch

    def to(self: Any, *arguments: Any, **named: Any) -> Any:
        said = [*arguments, *named.values()]
        dtypes = (each for each in said if isinstance(each, torch.dtype))
        dtype = next(dtypes, next((each.dtype for each in said if isinstance(each, torch.Tensor)), None))
        if isinstance(self, torch.Tensor) and named.get("copy"):
            return own(self, dtype or self.dtype, copy=True)
        return self if dtype is None else own(self, dtype)

    return to


def complete_init_weights() -> None:
    """Let ``self.init_weights()`` find the ties; transformers 5 finds them only in ``self.post_init()``."""
    base = getattr(sys.modules.get("transformers.modeling_utils"), "PreTrainedModel", None)
    if base is None or not hasattr(base, "get_expanded_tied_weights_keys"):
        return
    own, expand = vars(base)["init_weights"], vars(base)["get_expanded_tied_weights_keys"]
    release = f"transformers {sys.modules['transformers'].__version__}"

    def init_weights(self: Any) -> None:
        if not hasattr(self, "all_tied_weights_keys"):
            calls = f"classes that call init_weights() and not post_init(), which {release} needs"
            note_stand_in(calls, type(self).__name__)
            self.all_tied_weights_keys = self.get_expanded_tied_weights_keys(all_submodels=False)
        own(self)

    def get_expanded_tied_weights_keys(self: Any, *arguments: Any, **named: Any) -> Any:
        listed = self._tied_weights_keys
        if listed and not isinstance(listed, dict) and getattr(self.config, "tie_word_embeddings", False):
            lists = f"{type(self).__name__}._tied_weights_keys is a list, which {release} does not read"
            fix = "write a dict of each name and its source, or build it with transformers 4"
            refuse(Refused(lists, f"{fix} {THERE}"))
        return expand(self, *arguments, **named)

    base.init_weights, base.get_expanded_tied_weights_keys = init_weights, get_expanded_tied_weights_keys


# a tokenizer has a length and added tokens

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
MARKER = re.compile(r"\[/?\w[^][]*\]|</?\w[^<>]*>|<\|[^<>|]+\|>|\{\w+\}", re.ASCII)
"""Pattern of tokens in brackets. A vocabulary of word pieces has none of them, except those of :data:`RESERVED`."""
RESERVED = re.compile(r"\[unused\d+\]|<unused\d+>|<extra_id_\d+>|<[ST]>|<\|endoftext\|>")
"""Pattern of tokens in brackets that a vocabulary may have: Chinese BERT has ``<S>``, RoBERTa ``<|endoftext|>``."""
SPECIAL_KEYS = (
    *("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"),
    "additional_special_tokens",
)
"""Arguments of a tokenizer whose values are tokens; a token that the vocabulary lacks is added."""
OTHER_KEYS = (
    *("extra_special_tokens", "added_tokens_decoder", "vocab", "merges"),
    *("vocab_file", "tokenizer_file", "tokenizer_object"),
)
"""Arguments of a tokenizer that change its number of tokens by an amount that only the tokenizer knows."""
MADE_BEFORE = "make the model above that line, or "
TAKEN: dict[str, int] = {}  # the assumed number of tokens of each missing tokenizer, by the tokenizer's name


class AddedVocab:
    """The added tokens of a missing tokenizer: ``token in added`` works if the answer is known, any other use fails."""

    def __init__(self, has_token: Callable[[str], bool], fail: Callable[..., NoReturn]) -> None:
        self._has_token, self._fail = has_token, fail

    def __contains__(self, token: str) -> bool:
        return self._has_token(token)

    def _fail_at(self, *_: object) -> NoReturn:
        self._fail()

    __getitem__ = __iter__ = __getattr__ = _fail_at


class Tokenizer:
    """A stand-in for a missing tokenizer: it has added tokens, and a length if its family is in :data:`SPECIAL`."""

    def __init__(self, name: str, config: Mapping[str, Any], given: Mapping[str, Any] = MappingProxyType({})) -> None:
        """:param config: the config of the tokenizer's model.

        :param given: the keyword arguments of the code's call.
        """
        family = str(config.get("model_type"))
        own = f"{family.replace('-', '')}tokenizer"
        has_own = str(config.get("tokenizer_class") or own).lower() in {own, f"{own}fast"}  # MiniLM has XLM-R's
        special = SPECIAL.get(family, ()) if has_own else ()
        vars(self).update(_name=name, _config=config, _special=special, _added={}, _given=given)

    def __len__(self) -> int:
        self._read_given()
        return self.vocab_size + len(self._added)

    def _read_given(self) -> None:
        given = self._given
        vars(self).update(_given={})
        for key, value in given.items():
            is_other_token = key.endswith("_token") and key not in SPECIAL_KEYS and value is not True
            if value and (key in OTHER_KEYS or is_other_token):  # transformers 5 adds the value of any such key
                self._refuse(f"its number of tokens with {key}")
        self.add_special_tokens({key: given[key] for key in SPECIAL_KEYS if given.get(key)})

    @property
    def name_or_path(self) -> str:
        return str(self._name)

    @property
    def vocab_size(self) -> int:
        size = self._config.get("vocab_size")
        if not self._special or type(size) is not int:
            family = self._config.get("model_type")
            self._refuse(f"its number of tokens, which a config of the family {family!r} does not have")
        TAKEN[self._name] = size
        return size

    def add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:  # noqa: FBT001, FBT002
        """Add tokens, and return how many are new; the library may write tokens that are not special in lower case."""
        before = len(self)
        for each in new_tokens if isinstance(new_tokens, (list, tuple)) else [new_tokens]:
            token = str(getattr(each, "content", each))
            if not self._has_token(token, in_lower_case=not special_tokens):
                self._added[token] = None
        return len(self) - before

    def _has_token(self, token: str, *, in_lower_case: bool) -> bool:
        """Return whether a token is special or was added; refuse any other that the missing vocabulary may have."""
        if token in self._special or token in self._added:
            return True
        alike = in_lower_case and token.lower() in map(str.lower, self._added)
        if not MARKER.fullmatch(token) or RESERVED.fullmatch(token) or alike:
            self._refuse(f"the token {token!r}, which its vocabulary may or may not have")
        return False

    def get_added_vocab(self) -> AddedVocab:
        self._read_given()
        has_token = partial(self._has_token, in_lower_case=True)
        return AddedVocab(has_token, partial(self._refuse, "its added tokens", MADE_BEFORE))

    def add_special_tokens(self, special_tokens_dict: Mapping[str, Any], *_: Any, **__: Any) -> int:
        return sum(self.add_tokens(tokens, special_tokens=True) for tokens in special_tokens_dict.values())

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("the tokens of a text", MADE_BEFORE)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse(name, MADE_BEFORE)

    def __setattr__(self, name: str, _: object) -> None:
        self._refuse(f"another {name}")

    def _refuse(self, what: str, first: str = "") -> NoReturn:
        said = f"the tokenizer of {self._name!r} is not in the project, and is asked for {what}"
        if os.path.isdir(self._name):  # noqa: PTH112  (a name, as the library takes it)
            refuse(Refused(said, f"{first}put the files of its tokenizer into that folder"))
        folder = self._name.partition("@")[0].rpartition("/")[2]
        hub = f'hub = {{ "{self._name}" = "models/{folder}" }} in [tool.bertsize]'
        folder = f"put its config.json and the files of its tokenizer into a folder, and name it: {hub}"
        refuse(Refused(said, f"{first}{folder}"))
