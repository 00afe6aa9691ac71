"""How a project's own class is made by a function of a few lines: its arguments, followed back to what the files say."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.code import Origin
from pytest_bertsize.commands.init.python.made import made_of
from pytest_bertsize.config.in_python import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_bertsize.commands.init.python.code import Code, Module
    from pytest_bertsize.commands.init.python.made import Made
    from pytest_bertsize.commands.init.python.meant import Meanings
    from pytest_bertsize.commands.init.python.names import Named

NAMESPACES = re.compile(
    r"(self\.)?(args?|opts?|options|hparams|hp|params|FLAGS|flags|parsed_args|arguments)(\.flatten)?$"
)
"""What the options of a command line are called where they are handed on."""
LABELS = re.compile(
    r"num_.*(labels?|class(es)?|tags?|rels?)|n_(class(es)?|labels?|tags?)|(label|tag|class)_?(num|size|count)|tagset_size|.*_(labels?|tags?)_(lst|list)|labels?_list|num_labels?"
)
STAND_IN = 2
WORDS = re.compile(r"(n_?|num_?)?(vocab|tokens?|words?)(_?(size|num|count|len))?|(n|num)_items?|.*vocab_size")
MOST_WORDS = 30_000
"""What stands in for numbers of labels and of words that only the data tells."""
MOST_STEPS = 12
_IGNORED = frozenset(
    {
        "from_tf",
        "cache_dir",
        "state_dict",
        "output_loading_info",
        "force_download",
        "local_files_only",
        "ignore_mismatched_sizes",
        "torch_dtype",
        "device_map",
        "use_auth_token",
        "token",
        "revision",
        "trust_remote_code",
        "low_cpu_mem_usage",
        "from_flax",
        "use_safetensors",
    }
)
"""Arguments of ``from_pretrained`` that say nothing of a shape."""


class Undecided(Exception):
    """What only a run of the project can tell; the message says what."""


@dataclass
class Plan:
    """A function that makes a model, and what its table says."""

    name: str
    made: Made
    config: str = ""
    """What the table names as config."""
    overrides: dict[str, object] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    """From which the project imports its modules, beside its root."""
    imports: dict[str, set[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What a comment says: what stands in for what is known only to a run."""

    @property
    def class_where(self) -> str:
        module, name = self.made.origin.module, self.made.origin.name
        assert module is not None
        return f"{module.file}:{module.classes[name].lineno}"

    def needs(self, module: str, name: str) -> str:
        self.imports.setdefault(module, set()).add(name)
        return name

    @property
    def text(self) -> str:
        """The function."""
        lines = [f"def {self.name}({'config' if self.config else ''}):"]
        lines += [f'    """{self.made.class_name}, as {self.made.where} makes it."""']
        inside = [*(f'sys.path.insert(0, "{folder}")' for folder in self.folders)]
        for module, names in sorted(self.imports.items()):
            inside.append(f"from {module} import {', '.join(sorted(names))}")
        if inside:
            inside.append("")
        lines += [f"    {line}".rstrip() for line in (*inside, *(f"# {note}" for note in self.notes), *self.body)]
        return "\n".join(lines) + "\n"


class Planner:
    """Plans for the classes of one project."""

    def __init__(self, code: Code, meanings: Meanings, family_of: Mapping[str, str]) -> None:
        self.code = code
        self.meanings = meanings
        self.family_of = family_of

    def plan(self, made: Made, name: str) -> Plan:
        """:raises Undecided: for a class whose arguments nobody can tell."""
        plan = Plan(name, made)
        made_name = self._imported(plan, made.origin)
        _Arguments(self, plan, made).write(made_name)
        return plan

    def _imported(self, plan: Plan, origin: Origin) -> str:
        assert origin.module is not None
        path = origin.module.file
        folder = origin.folder
        if folder and path.startswith(f"{folder}/"):
            path = path[len(folder) + 1 :]
            if folder not in plan.folders:
                plan.folders.append(folder)
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        if not all(part.isidentifier() for part in parts):
            raise Undecided(f"{origin.module.file} cannot be imported by its name")
        return plan.needs(".".join(parts), origin.name)


class _Arguments:
    """The arguments of one call, as a function of our own can write them."""

    def __init__(self, planner: Planner, plan: Plan, made: Made) -> None:
        self.planner = planner
        self.plan = plan
        self.made = made
        self.options: Module | None = None
        self.named: Named | None = None
        self.config_call = ""
        self.steps = 0

    def write(self, class_name: str) -> None:
        made, plan = self.made, self.plan
        from_library = made.kind not in {"Module", "LightningModule"}
        arguments = self._of_library_kind(class_name) if from_library else [*self._plain()]
        if self.options is not None and self.named is not None:
            self._by_options(class_name)
            arguments = [each.replace("@config", self._named_config(class_name)) for each in arguments]
        elif self.options is not None:
            plan.config = self.options.file
        elif self.named is not None or self.config_call:
            plan.config = self.named.reference if self.named else self.config_call
            arguments = [each.replace("@config", f"{self.config_class(class_name)}(**config)") for each in arguments]
        if self.options is not None:
            plan.needs("types", "SimpleNamespace")
            plan.body.append("args = SimpleNamespace(**config)")
        plan.body.append(f"return {class_name}({', '.join(arguments)})")

    def config_class(self, class_name: str) -> str:
        if self.made.kind not in {"Module", "LightningModule"}:
            return f"{class_name}.config_class"
        return self.plan.needs("transformers", "BertConfig")

    def _by_options(self, class_name: str) -> None:
        assert self.options is not None
        self.plan.config = self.options.file

    def _named_config(self, class_name: str) -> str:
        """The config by the name that a place of the project's files says."""
        named = self.named
        assert named is not None
        of = f"{self.config_class(class_name)}.from_pretrained"
        extra = "".join(f", {key}={value!r}" for key, value in self.plan.overrides.items())
        self.plan.overrides.clear()
        if named.module is not None and named.module is self.options and "." not in named.place:
            return f"{of}(args.{named.place}{extra})"
        constant, *keys = named.place.split(".")
        if (
            named.module is not None
            and named.module.source.places.get(constant)
            and constant not in named.module.classes
            and constant not in named.module.functions
            and constant not in named.module.source.of_options
            and named.module.dotted
        ):
            self.planner._imported(
                self.plan,
                Origin(
                    named.module,
                    constant,
                    self.made.origin.folder if named.module.file.startswith(self.made.origin.folder) else "",
                ),
            )
            return f"{of}({constant}{''.join(f'[{key!r}]' for key in keys)}{extra})"
        self.plan.notes.append(f"{named.where} names it")
        return f"{of}({named.name!r}{extra})"

    # a class of the library's kind

    def _of_library_kind(self, class_name: str) -> list[str]:
        made = self.made
        node = self._class()
        parameters = self._parameters(node) or ["config"]
        given = {key.arg: key.value for key in made.call.keywords if key.arg and key.arg not in _IGNORED}
        positional = list(made.call.args)
        first = (
            positional.pop(0)
            if made.is_pretrained and positional
            else given.pop("pretrained_model_name_or_path", None)
            or given.pop("model_name_or_path" if made.is_pretrained else "", None)
        )
        config = given.pop("config", None)
        if not made.is_pretrained and positional:
            config = positional.pop(0)
        self._config(first, config)
        arguments = ["@config"]
        for name in parameters[1:]:
            if name in given:
                arguments.append(f"{name}={self._value(given.pop(name), name)}")
            elif positional:
                arguments.append(f"{name}={self._value(positional.pop(0), name)}")
            elif name not in self._with_default(node):
                raise Undecided(f"its argument {name} is not given")
        takes_more = (function := _init(node)) is not None and function.args.kwarg is not None
        for name, value in given.items():
            if takes_more and name not in {"num_labels"}:
                arguments.append(f"{name}={self._value(value, name)}")
                continue
            try:
                self.plan.overrides[name] = ast.literal_eval(self._value(value, name))
            except (ValueError, SyntaxError, Undecided):
                continue
        return arguments

    def _config(self, first: ast.expr | None, config: ast.expr | None) -> None:
        """Find out what the config is made of."""
        made = self.made
        call = made_of(made, config)
        if call is not None:
            path = dotted(call.func)
            if path.endswith("Config"):
                self.config_call = f"{made.module.file}#{path.rpartition('.')[2]}"
                return
            if path.endswith((".from_pretrained", "from_json_file")) and call.args:
                first = call.args[0]
            for key in call.keywords:
                if key.arg and key.arg not in _IGNORED:
                    try:
                        self.plan.overrides[key.arg] = ast.literal_eval(self._value(key.value, key.arg))
                    except (ValueError, SyntaxError, Undecided):
                        continue
        meant = (self.planner.meanings.of(each, made.module, made.place) for each in (first, made.first))
        named = next(filter(None, meant), None)
        family = next((each for each in set(self.planner.family_of.values()) if _is_of(made.kind, each)), "")
        if named is None or (family and self.planner.family_of.get(named.name) not in {family, None}):
            named = (
                self.planner.meanings.any_of([family] if family else [], dict(self.planner.family_of), made.module)
                or named
            )
        if named is None:
            said = ast.unparse(first)[:60] if first is not None else "its config"
            raise Undecided(f"{said} names no published model, nor a file of the project")
        self.named = named

    # any class

    def _plain(self) -> Iterator[str]:
        node = self._class()
        parameters = self._parameters(node)
        for index, value in enumerate(self.made.call.args):
            if isinstance(value, ast.Starred):
                raise Undecided(f"{ast.unparse(value)} is known only to a run")
            yield self._value(value, parameters[index] if index < len(parameters) else "")
        for key in self.made.call.keywords:
            if key.arg is None:
                raise Undecided(f"**{ast.unparse(key.value)} is known only to a run")
            try:
                value = self._value(key.value, key.arg)
            except Undecided:
                if key.arg not in self._with_default(node):
                    raise
                continue
            yield f"{key.arg}={value}"

    def _value(self, expression: ast.expr, name: str) -> str:
        """An argument, as the function can write it.

        :raises Undecided: for what nobody can tell.
        """
        self.steps += 1
        if self.steps > MOST_STEPS * 10:
            raise Undecided("its arguments lead too far")
        if isinstance(expression, ast.Constant):
            return repr(expression.value)
        path = dotted(expression)
        if path and (NAMESPACES.fullmatch(path) or self._is_parsed(path)):
            return self._args()
        if name == "device" or path.endswith("device"):
            return "'cpu'"
        if isinstance(expression, ast.Attribute) and self._is_option(path, expression.attr):
            return f"{self._args(expression.attr)}.{expression.attr}"
        if isinstance(expression, ast.Subscript) and self._is_option_key(expression):
            key = str(ast.literal_eval(expression.slice))
            return f"{self._args(key)}.{key}"
        if isinstance(expression, ast.List | ast.Tuple) and all(
            isinstance(each, ast.Constant) for each in expression.elts
        ):
            return ast.unparse(expression)
        if isinstance(expression, ast.Name) and (made := self._of_dataclasses(expression.id)):
            return made
        if isinstance(expression, ast.Name) and (found := self._local(expression.id)) is not None:
            return self._value(found, name)
        if isinstance(expression, ast.Call) and (made := self._of_project(expression)):
            return made
        if isinstance(expression, ast.Call) and dotted(expression.func).rpartition(".")[0].endswith("Config"):
            self._config(expression.args[0] if expression.args else None, expression)
            return "@config"
        if isinstance(expression, ast.Call) and (made := self._of_library(expression)):
            return made
        counts = isinstance(expression, ast.Call) and dotted(expression.func) == "len"
        if LABELS.fullmatch(name) or (counts and WORDS.fullmatch(name)):
            said = ast.unparse(expression)[:60]
            stands_in = (
                f"{[*'OB']}"
                if name.endswith(("lst", "list"))
                else str(STAND_IN if LABELS.fullmatch(name) else MOST_WORDS)
            )
            self.plan.notes.append(
                f"{name} is known only to a run ({self.made.module.file}:{expression.lineno}: {said}): {stands_in} stands in"
            )
            return stands_in
        raise Undecided(
            f"{ast.unparse(expression)[:60]} is known only to a run ({self.made.module.file}:{expression.lineno})"
        )

    def _args(self, option: str = "") -> str:
        if self.options is None:
            self.options = self._options_module(option)
        return "args"

    def _options_module(self, option: str = "") -> Module:
        """The script whose options are meant: this file, or the one that imports it and has the most."""
        here = self.made.module
        if self.options is not None:
            return self.options
        if here.source.of_options:
            return here
        modules = self.planner.code.modules.values()
        others = [each for each in modules if each.source.of_options and not each.comes_last]
        others.sort(
            key=lambda each: (
                bool(option) and option not in each.source.of_options,
                not self.planner.code.imports(each, here),
                -_shared(each.file, here.file),
                not each.is_script,
                -("train" in each.file or "main" in each.file),
                -len(each.source.of_options),
            )
        )
        if not others:
            raise Undecided("there are no options of a command line in the project")
        return others[0]

    def _is_parsed(self, path: str) -> bool:
        found = self._local(path)
        return isinstance(found, ast.Call) and dotted(found.func).endswith(("parse_args", "parse_known_args"))

    def _is_option(self, path: str, name: str) -> bool:
        if NAMESPACES.fullmatch(path.rpartition(".")[0]) is None and not self._is_parsed(path.rpartition(".")[0]):
            return False
        try:
            return name in self._options_module(name).source.of_options
        except Undecided:
            return False

    def _is_option_key(self, expression: ast.Subscript) -> bool:
        key = expression.slice
        is_text = isinstance(key, ast.Constant) and isinstance(key.value, str)
        return is_text and self._is_option(f"{dotted(expression.value)}.{key.value}", str(key.value))  # type: ignore[union-attr]

    def _local(self, name: str) -> ast.expr | None:
        """What a name was set to once, or its default."""
        places = self.made.module.source.places
        parts = [getattr(each, "name", "") for each in self.made.scope]
        for depth in range(len(parts), -1, -1):
            found = places.get(".".join((*parts[:depth], name)), [])
            if len(found) == 1 and found[0].node is not None and name not in self.made.module.source.of_options:
                return found[0].node
        return None

    def _of_dataclasses(self, name: str) -> str:
        """``model_args, … = HfArgumentParser((ModelArguments, …)).parse_args_into_dataclasses()`` → ``ModelArguments()``."""
        nodes = [node for outer in reversed(self.made.scope) for node in ast.walk(outer)]
        for node in nodes:
            targets = node.targets[0] if isinstance(node, ast.Assign) else None
            if not isinstance(targets, ast.Tuple) or "into_dataclasses" not in ast.unparse(node):
                continue
            names = [dotted(each) for each in targets.elts]
            calls = (
                each for each in nodes if isinstance(each, ast.Call) and dotted(each.func).endswith("HfArgumentParser")
            )
            classes = next(
                (each.args[0].elts for each in calls if each.args and isinstance(each.args[0], ast.Tuple)), []
            )
            if name in names and names.index(name) < len(classes):
                call = ast.copy_location(ast.Call(classes[names.index(name)], [], []), node)
                return self._of_project(call)
        return ""

    def _of_project(self, call: ast.Call) -> str:
        """``Config()``: of a class of the project, with arguments that can be told."""
        origin = self.planner.code.origin(self.made.module, dotted(call.func)) if dotted(call.func) else None
        if origin is None or origin.module is None or origin.name not in origin.module.classes:
            return ""
        if self.planner.code.kind(origin) and self.steps > MOST_STEPS:
            return ""
        name = self.planner._imported(self.plan, origin)
        given = [self._value(each, "") for each in call.args]
        given += [f"{key.arg}={self._value(key.value, key.arg)}" for key in call.keywords if key.arg]
        return f"{name}({', '.join(given)})"

    def _of_library(self, call: ast.Call) -> str:
        """``BertConfig(hidden_size=args.width)``, as it is written."""
        origin = self.planner.code.origin(self.made.module, dotted(call.func)) if dotted(call.func) else None
        if origin is None or not origin.of_library.endswith("Config") or call.args:
            return ""
        given = [f"{key.arg}={self._value(key.value, key.arg)}" for key in call.keywords if key.arg]
        return f"{self.plan.needs('transformers', origin.of_library)}({', '.join(given)})"

    def _class(self) -> ast.ClassDef | None:
        origin = self.made.origin
        return origin.module.classes.get(origin.name) if origin.module else None

    def _parameters(self, node: ast.ClassDef | None) -> list[str]:
        function = _init(node)
        return [each.arg for each in (*function.args.args, *function.args.kwonlyargs)][1:] if function else []

    def _with_default(self, node: ast.ClassDef | None) -> set[str]:
        function = _init(node)
        if function is None:
            return set()
        count = len(function.args.defaults)
        return {each.arg for each in function.args.args[-count:] if count} | {
            each.arg for each in function.args.kwonlyargs
        }


def _init(node: ast.ClassDef | None) -> ast.FunctionDef | None:
    functions = (each for each in (node.body if node else ()) if isinstance(each, ast.FunctionDef))
    return next((each for each in functions if each.name == "__init__"), None)


def _is_of(kind: str, family: str) -> bool:
    """``BertPreTrainedModel`` is of bert."""
    start = re.match(r"(.*?)(PreTrainedModel|Model|For[A-Z].*)$", kind)
    return bool(start) and start[1].lower().replace("_", "") == family.replace("-", "").replace("_", "")


def _shared(one: str, other: str) -> int:
    count = 0
    for a, b in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if a != b:
            break
        count += 1
    return count
