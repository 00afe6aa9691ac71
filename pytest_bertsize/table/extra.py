"""``extra`` in a model's table: the modules of its class beside the backbone, declared as torch's classes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from pytest_bertsize.table.limits import NO_COMPONENTS
from pytest_bertsize.table.reading import Key
from pytest_bertsize.wording import shown

# The sizes of each block, such as a linear, in the order of torch's arguments; a parameter has a shape instead.
SIZES = {
    "linear": ("in", "out"),
    "embedding": ("rows", "width"),
    "layer_norm": ("width",),
    "rms_norm": ("width",),
    "parameter": (),
    "conv1d": ("in", "out", "kernel"),
    "conv2d": ("in", "out", "height", "width"),
    "lstm": ("in", "hidden"),
    "gru": ("in", "hidden"),
    "multihead_attention": ("width",),
    "transformer_encoder_layer": ("width", "feed_forward"),
    "transformer_decoder_layer": ("width", "feed_forward"),
}
# The fewest sizes of blocks with optional sizes: a scalar parameter has none, a conv2d with a square kernel three.
FEWEST = {"parameter": 0, "conv2d": 3}
ARGUMENTS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "multihead_attention"), ("bias",)),
    **dict.fromkeys(("transformer_encoder_layer", "transformer_decoder_layer"), ("bias",)),
    **dict.fromkeys(("lstm", "gru"), ("bias", "layers", "bidirectional")),
    "layer_norm": ("bias", "elementwise_affine"),
    "rms_norm": ("elementwise_affine",),
}
# Parameters of each block that may be tied to a parameter of another module.
TIED = {"linear": ("weight", "bias"), "embedding": ("weight",)}
LONGEST_SHAPE = 8
LONGEST_SUM = 200  # the most characters of one size, which may be a sum
MOST_LAYERS = 100
LARGEST = 10**9

# Pattern of a module's path; an nn.Sequential numbers its modules: ``0.auto_model``.
MODULE_PATH = re.compile(r"\w{1,100}(\.\w{1,99}){0,20}", re.ASCII)
RANGE = r"\[(?:-?[0-9]{1,9})?:?(?:-?[0-9]{1,9})?\]"
# Pattern of a path for several modules: one in each layer of a range, ``bert.encoder.layer[6:].adapter``, or one for
# each index of a counted list, ``crfs.*.transitions``.
RANGED_PATH = re.compile(rf"\w{{1,100}}(\.\w{{1,99}}|\.\*|{RANGE}){{0,20}}", re.ASCII)
# Pattern of a config's key, perhaps after the attribute of a backbone: ``question.hidden_size``, ``0.hidden_size``.
KEY = r"(?:[0-9]+\.)?[A-Za-z_]\w{0,99}(?:\.\w{1,99}){0,20}"
SUMMAND = re.compile(rf"(?:(?P<times>[0-9]{{1,9}})\s*\*\s*)?(?P<key>{KEY})|(?P<number>[0-9]{{1,9}})", re.ASCII)
COMPONENT = r"[A-Za-z_][0-9A-Za-z_]{0,99}(\.[0-9A-Za-z_]{1,99}){0,20}"


def check_component(name: str) -> None:
    if name.partition(".")[0] in NO_COMPONENTS:
        raise ValueError(f"{shown(name)} {NO_COMPONENT}")


NO_COMPONENT = 'is not the name of a component: write component = "head.crf", or components = { tower = "vision.*" }'
Component = Annotated[
    str,
    Meta(
        pattern=rf"^{COMPONENT}\Z",
        extra_json_schema={"not": {"pattern": rf"^(?:{'|'.join(sorted(NO_COMPONENTS))})(?:\.|$)"}},
    ),
    Key(says=NO_COMPONENT),
    check_component,
]


class Extra(Struct, frozen=True):
    """A module or parameter beside the backbone: { name = "classifier", linear = ["hidden_size", "num_labels"] }."""

    #: The path of the module or parameter in the class. With a range in the path, such as layer[6:], each layer of the
    #: range has such a module. Example: name = "bert.encoder.layer[6:].adapter".
    name: Annotated[str, Key(missing='it has no name: write name = "classifier", the path of the module in the class')]
    #: A Linear, [in, out]. Example: linear = ["hidden_size", "num_labels"].
    linear: Any = None
    #: An Embedding, [rows, width]. Example: embedding = [512, "hidden_size"].
    embedding: Any = None
    #: A LayerNorm, by its width. Example: layer_norm = "hidden_size".
    layer_norm: Any = None
    #: An RMSNorm, by its width. Example: rms_norm = "hidden_size".
    rms_norm: Any = None
    #: A Parameter, by its shape; [] for a scalar. Example: parameter = ["num_labels", "num_labels"].
    parameter: Any = None
    #: A Conv1d, [in, out, kernel]. Example: conv1d = ["hidden_size", 128, 3].
    conv1d: Any = None
    #: A Conv2d, [in, out, kernel] or [in, out, height, width]. Example: conv2d = [1, 32, 3, 5].
    conv2d: Any = None
    #: An LSTM, [in, hidden]. Example: lstm = ["hidden_size", 128].
    lstm: Any = None
    #: A GRU, [in, hidden]. Example: gru = ["hidden_size", 128].
    gru: Any = None
    #: A MultiheadAttention, by its width. Example: multihead_attention = "hidden_size".
    multihead_attention: Any = None
    #: A TransformerEncoderLayer of torch itself, [width, feed_forward]. Example: transformer_encoder_layer =
    #: ["hidden_size", 2048].
    transformer_encoder_layer: Any = None
    #: A TransformerDecoderLayer of torch itself, [width, feed_forward]. Example: transformer_decoder_layer =
    #: ["hidden_size", 2048].
    transformer_decoder_layer: Any = None
    #: The number of equal modules in a list. Their paths are NAME.0, NAME.1 and so on; if the name has a ``*``, the
    #: index replaces the ``*``. Example: count = "num_hidden_layers".
    count: Any = None
    #: ``true`` if the module has biases; an ``rms_norm``, an ``embedding`` or a ``parameter`` never has any. Default:
    #: ``true``. Example: bias = false.
    bias: bool | None = None
    #: ``true`` if a ``layer_norm`` or ``rms_norm`` has parameters. Default: ``true``. Example: elementwise_affine =
    #: false.
    elementwise_affine: bool | None = None
    #: The number of layers of an ``lstm`` or ``gru``. Default: 1. Example: layers = 2.
    layers: Annotated[int, Meta(ge=1, le=MOST_LAYERS)] | None = None
    #: ``true`` if an ``lstm`` or ``gru`` is bidirectional. Default: ``false``. Example: bidirectional = true.
    bidirectional: bool | None = None
    #: Parameters of the module that are tied, each with the name of the tensor to which it is tied. Example: tied = {
    #: weight = "bert.embeddings.word_embeddings.weight" }.
    tied: dict[str, str] = {}
    #: The component that the module belongs to. Default: the backbone's component at this path, else "head.NAME", where
    #: NAME is the first part of the path. Example: component = "head.crf".
    component: Component = ""

    @property
    def block(self) -> str:
        """The key that has the sizes: ``linear``, ``embedding`` or another key of :data:`SIZES`."""
        return next(block for block in SIZES if getattr(self, block) is not None)

    @property
    def sizes(self) -> list[int | str]:
        """The sizes in the order of torch's arguments: numbers, keys of the config, or ``"2*hidden_size + 16"``."""
        written = getattr(self, self.block)
        return written if isinstance(written, list) else [written]

    @property
    def written(self) -> list[str]:
        """The sizes and the count that are not numbers, but keys of the config or sums with such keys."""
        return [size for size in (*self.sizes, self.count) if isinstance(size, str)]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments in the table, other than the sizes, for torch's class."""
        written = {key: getattr(self, key) for key in ("bias", "elementwise_affine", "layers", "bidirectional")}
        return {key: value for key, value in written.items() if value is not None}

    def with_numbers(self, numbers: Mapping[str, Any]) -> Extra:
        """Return the extra with its sizes' keys replaced by their values in ``numbers``, if these are whole numbers."""
        known = {key: value for key, value in numbers.items() if type(value) is int}

        def write(size: Any) -> Any:
            if not isinstance(size, str) or not any(key in known for _, key in summands(size)):
                return size
            found = summands(size)
            number = sum(times * known.get(key or "", 1) for times, key in found if key is None or key in known)
            keys = [f"{times}*{key}" for times, key in found if key and key not in known]
            return " + ".join((*keys, str(number))) if keys else number

        sizes = [write(size) for size in self.sizes]
        return structs.replace(self, **{self.block: sizes, "count": write(self.count)})

    def __str__(self) -> str:
        """Write the whole entry, to compare it with an earlier one: ``out linear[768, 2] bias=False``."""
        also = {**self.arguments, **self.tied, **({} if self.count is None else {"count": self.count})}
        said = (f"{key}={each}" for key, each in also.items())
        return " ".join([f"{self.name} {self.block}{list(self.sizes)}", *said])

    def __post_init__(self) -> None:
        if not RANGED_PATH.fullmatch(self.name):
            raise ValueError(f'{shown(self.name)} is not the path of a module: write name = "classifier", for example')
        if self.name.count("*") > (self.count is not None):
            only = "only if the key count gives the length of a list"
            raise ValueError(f'{shown(self.name)} may have one "*", and {only}: write count = 6, for example')
        blocks = [block for block in SIZES if getattr(self, block) is not None]
        if len(blocks) != 1:
            says = f"has {' and '.join(blocks)}" if blocks else "has no block"
            example = 'linear = ["hidden_size", "num_labels"]'
            raise ValueError(f"the extra {shown(self.name)} {says}: write one of {', '.join(SIZES)}, as in {example}")
        for problem in (*self._name_wrong_sizes(), *self._name_wrong_keys()):
            raise ValueError(f"the extra {shown(self.name)}: {problem}")

    def _name_wrong_sizes(self) -> Iterator[str]:
        names = SIZES[self.block]
        most = len(names) or LONGEST_SHAPE
        if not FEWEST.get(self.block, most) <= len(self.sizes) <= most:
            wanted = f"[{', '.join(names)}]" if names else f"its shape, at most {LONGEST_SHAPE} numbers"
            yield f"{self.block} takes {wanted}, and this has {len(self.sizes)}"
        sizes = [("", size) for size in self.sizes]
        for what, size in (*sizes, *([] if self.count is None else [("count ", self.count)])):
            found = summands(size) if isinstance(size, str) else [(size, None)]
            if not found or not all(type(number) is int and 0 < number <= LARGEST for number, _ in found):
                example = shown("2*hidden_size + 16")
                write = f"write a number above 0, a key of the config, or a sum such as {example}"
                yield f"{what}{shown(size)} is no size: {write}"

    def _name_wrong_keys(self) -> Iterator[str]:
        taken, known = ARGUMENTS.get(self.block, ()), TIED.get(self.block, ())
        yield from (f"{self.block} has no argument {key}: remove it" for key in self.arguments if key not in taken)
        for parameter, source in self.tied.items():
            if parameter not in known or (parameter == "bias" and self.bias is False):
                there_are = f"it can tie {' and '.join(known) or 'nothing'}"
                yield f"this {self.block} has no parameter {shown(parameter)} to tie; {there_are}"
            elif self.count is not None or "[" in self.name:
                yield "it is several modules, which cannot all be tied to one tensor: write one extra for each"
            elif not MODULE_PATH.fullmatch(source):
                example = f'tied = {{ {parameter} = "bert.embeddings.word_embeddings.weight" }}'
                yield f"{shown(source)} is not the name of a tensor: write {example}, for example"


def summands(size: str) -> list[tuple[int, str | None]]:
    """Split a sum, ``"2*hidden_size + 16"``, into ``[(2, "hidden_size"), (16, None)]``; ``[]`` if it is no sum."""
    found = [SUMMAND.fullmatch(part.strip()) for part in size.split("+")] if len(size) <= LONGEST_SUM else []
    if not all(found):
        return []
    return [(int(each["number"] or each["times"] or 1), each["key"]) for each in found if each]
