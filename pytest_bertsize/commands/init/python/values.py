"""An argument of a call, as a function of our own can write it: followed back to options, dataclasses and literals."""

from __future__ import annotations

import ast
import re
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.callers import callers_of, init_of, parameters_of, sayer_of, set_to
from pytest_bertsize.commands.init.python.code import shared
from pytest_bertsize.commands.init.python.plan import Undecided
from pytest_bertsize.commands.init.python.settings_files import access
from pytest_bertsize.config.flows import called_name
from pytest_bertsize.config.python_nodes import dotted, own
from pytest_bertsize.config.python_source import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_bertsize.commands.init.python.callers import Given
    from pytest_bertsize.commands.init.python.code import Code, Module, Origin
    from pytest_bertsize.commands.init.python.made import Made
    from pytest_bertsize.commands.init.python.plan import Plan
    from pytest_bertsize.commands.init.python.settings_files import SettingsFile

_THING = r"(labels?|class(es)?|tags?|rel(ation)?s?)"
LABELS = re.compile(rf"(num|n)_?(\w+_)?{_THING}|{_THING}_?(num|size|count)|tagset_size|(\w+_)?{_THING}_(lst|list)")
WORDS = re.compile(r"(n_?|num_?)?(\w+_)?(vocab|tokens?|words?|items?)(_?(size|num|count|len))?")
ASKED = re.compile(r"label|class|tag|vocab", re.IGNORECASE)
"""What a function of the project is called that says its labels."""
FEW, MANY = 2, 30_000
"""What stands in for numbers of labels, and of words, that only the data tells."""
MOST_STEPS = 120


class Values:
    """Of one call."""

    def __init__(self, code: Code, plan: Plan, *, runs_functions: bool = True) -> None:
        """:param runs_functions: whether the function may ask the project's own for its labels."""
        self.code = code
        self.plan = plan
        self.made: Made = plan.made
        self.module, self.scope = self.made.module, self.made.scope
        self.runs_functions = runs_functions
        self.options: Module | None = None
        """The script whose options are the config that the function is given."""
        self.settings: SettingsFile | None = None
        """The file of settings that is the config that the function is given."""
        self.reads: ast.AST | None = None
        """What reads options, where that is not the class."""
        self._steps = 0
        self._followed: set[str] = set()

    def of(self, node: ast.expr, name: str) -> str:
        """:param name: of the argument.

        :raises Undecided: for what nobody can tell.
        """
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Undecided("its arguments lead too far")
        why: Undecided | None = None
        ways = (self._written, self._of_options, self._of_settings, self._of_a_name, self._of_itself)
        for way in (*ways, self._of_an_object, self._of_a_call, self._of_sums, self._of_choices):
            before = self.options, self.settings, self.plan.as_it_is()
            try:
                if written := way(node, name):
                    return written
            except Undecided as undecided:
                why = why or undecided
                self.options, self.settings = before[:2]
                self.plan.put_back(before[2])
        said = ast.unparse(node)[:60].replace("\n", " ")
        where = f"{self.module.file}:{node.lineno}"
        is_counted = isinstance(node, ast.Call) and dotted(node.func) == "len"
        if LABELS.fullmatch(name) or (is_counted and WORDS.fullmatch(name)):
            stands_in = str([*"OB"]) if name.endswith(("lst", "list")) else str(FEW if LABELS.fullmatch(name) else MANY)
            self.plan.notes.append(f"{name} is known only to a run ({where}: {said}): {stands_in} stands in")
            return stands_in
        raise why or Undecided(f"{said} is known only to a run ({where})")

    def _written(self, node: ast.expr, name: str) -> str:
        path = dotted(node)
        elements = node.elts if isinstance(node, ast.List | ast.Tuple) else []
        if isinstance(node, ast.Constant) or (elements and all(isinstance(each, ast.Constant) for each in elements)):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                self.plan.copied.append((f"{self.module.file}:{node.lineno}", f"{name or 'a number'} = {node.value}"))
            return ast.unparse(node)
        return "'cpu'" if name == "device" or path.endswith("device") else ""

    def _of_options(self, node: ast.expr, _name: str) -> str:
        path = dotted(node)
        if path and (OPTIONS.fullmatch(path) or self._is_parsed(path)):
            return self._namespace(path)
        option = self._option(node)
        return f"{self._args(option)}.{option}" if option else ""

    def _of_settings(self, node: ast.expr, _name: str) -> str:
        """``cfg.encoder.width``: of a file that the project's scripts are run with."""
        asked = access(node)
        if asked is None or self.options is not None or self.code.settings is None:
            return ""
        is_same = self.settings is not None and self.settings.has(asked.keys)
        found = self.settings if is_same else self.code.settings.of(asked.keys, self.module)
        if found is None:
            return ""
        if self.settings is not None and not is_same:
            raise Undecided(f"{ast.unparse(node)} is of {found.file}, and what stands beside it of another file")
        self.settings = found
        return asked.text

    def _of_a_name(self, node: ast.expr, name: str) -> str:
        """What a name is set to, be it of the function, of its caller, or of another file."""
        if not isinstance(node, ast.Name):
            return self._constant(dotted(node))
        if written := self._of_dataclasses(node.id):
            return written
        if written := self._of_caller(node.id, name):
            return written
        if (found := self.local(node.id)) is not None:
            return self.of(found, name)
        return self._constant(node.id) or self._annotated(node.id)

    def _constant(self, path: str) -> str:
        """One that another file of the project sets."""
        origin = self.code.origin(self.module, path) if path else None
        if origin and origin.module and origin.module is not self.module and origin.module.is_constant(origin.name):
            return self.plan.needs_own(origin)
        return ""

    def _of_itself(self, node: ast.expr, name: str) -> str:
        """``self.width``, as ``__init__`` sets it."""
        if not (isinstance(node, ast.Attribute) and dotted(node) == f"self.{node.attr}"):
            return ""
        around = next((each for each in reversed(self.scope) if isinstance(each, ast.ClassDef)), None)
        init = init_of(around) if around is not None else None
        found = [value for key, value in own(init) if key == node.attr] if init else []
        if around is None or init is None or len(found) != 1:
            return ""
        with self._at(self.module, (around, init)):
            return self.of(found[0], name)

    def _of_an_object(self, node: ast.expr, name: str) -> str:
        """``encoder.config.hidden_size`` of what was made before, ``config.name`` of a parameter of a known class."""
        path = dotted(node)
        first, _, rest = path.partition(".")
        if not rest or first == "self":
            return ""
        function = self.scope[-1] if self.scope else self.module.source.tree
        nodes = (each for each in ast.walk(function) if isinstance(each, ast.Assign))
        said = [each.value for each in nodes if any(dotted(target) == path for target in each.targets)]
        if len(said) == 1 and path not in self._followed:
            self._followed.add(path)
            try:
                return self.of(said[0], name)
            finally:
                self._followed.discard(path)
        before = self.local(first)
        made = self._of_project(before) if isinstance(before, ast.Call) else ""
        made = made or self._annotated(first)
        return f"{made}.{rest}" if made else ""

    def _annotated(self, parameter: str) -> str:
        """``config: Settings`` → ``Settings()``: the class that a parameter is said to be of, by its own defaults."""
        function = self.scope[-1] if self.scope else None
        if not isinstance(function, ast.FunctionDef):
            return ""
        said = next((each.annotation for each in function.args.args if each.arg == parameter), None)
        inner = said.slice if isinstance(said, ast.Subscript) and dotted(said.value).endswith("Optional") else said
        origin = self.code.origin(self.module, dotted(inner)) if inner is not None and dotted(inner) else None
        if origin is None or origin.module is None or origin.name not in origin.module.classes:
            return ""
        if self.code.kind(origin):
            return ""
        return f"{self.plan.needs_own(origin)}()"

    def _of_caller(self, parameter: str, name: str) -> str:
        """What the only caller gives for a parameter of the function that the call stands in."""
        for each in callers_of(self.code, self.module, self.scope, parameter):
            with self._at(each.module, each.scope):
                return self.of(each.node, name)
        return ""

    def begin(self, written: Sequence[str]) -> None:
        """Name the config of the function, and say first what its expressions are made of."""
        said = self.options or self.settings
        self.plan.config = said.file if said else self.plan.config
        if self.settings is not None:
            self.plan.body.append(f"cfg = {self.plan.needs('omegaconf', 'OmegaConf')}.create(config)")
        if any(re.search(r"\bargs\b", each) for each in written):
            self.plan.needs("types", "SimpleNamespace")
            self.plan.body.append("args = SimpleNamespace(**config)")

    def at(self, given: Given) -> str:
        """What stands at another place.

        :raises Undecided: for what nobody can tell.
        """
        with self._at(given.module, given.scope):
            return self.of(given.node, "")

    @contextmanager
    def _at(self, module: Module, scope: tuple[ast.AST, ...]) -> Iterator[None]:
        """Look from another place of the project."""
        before = self.module, self.scope
        self.module, self.scope = module, scope
        try:
            yield
        finally:
            self.module, self.scope = before

    def _of_a_call(self, node: ast.expr, _name: str) -> str:
        if not isinstance(node, ast.Call):
            return ""
        if dotted(node.func).endswith(".is_available"):
            return "False"
        if dotted(node.func) == "len" and len(node.args) == 1:
            return f"len({self.of(node.args[0], '')})"
        return self._of_project(node) or self._of_library(node) or self._of_labels(node)

    def _of_sums(self, node: ast.expr, name: str) -> str:
        """``4 * args.width``, ``len(labels) + 1``; an entry of what can be told."""
        if isinstance(node, ast.BinOp):
            operator = ast.unparse(ast.BinOp(ast.Name("a"), node.op, ast.Name("b")))[1:-1]
            return f"({self.of(node.left, name)}{operator}{self.of(node.right, name)})"
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            return f"{self.of(node.value, '')}[{self.of(node.slice, '')}]"
        return ""

    def _of_choices(self, node: ast.expr, name: str) -> str:
        """``a or b``, ``a if hasattr(cfg, "a") else b``."""
        if isinstance(node, ast.BoolOp):
            operator = " or " if isinstance(node.op, ast.Or) else " and "
            return f"({operator.join(self.of(each, name) for each in node.values)})"
        if isinstance(node, ast.IfExp):
            body, test, other = (self.of(each, name) for each in (node.body, node.test, node.orelse))
            return f"({body} if {test} else {other})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"(not {self.of(node.operand, '')})"
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = ast.Compare(ast.Name("a"), node.ops, [ast.Name("b")])
            operator = ast.unparse(sides)[1:-1]
            return f"({self.of(node.left, '')}{operator}{self.of(node.comparators[0], '')})"
        if isinstance(node, ast.Call) and dotted(node.func) == "hasattr" and not node.keywords:
            return f"hasattr({', '.join(self.of(each, '') for each in node.args)})"
        return ""

    def _of_labels(self, call: ast.Call) -> str:
        """``get_labels(args)`` and ``processor.get_labels()``: a function of the project that says its labels."""
        path = dotted(call.func)
        asked = path.rpartition(".")[2] if path else getattr(call.func, "attr", "")
        if not (self.runs_functions and ASKED.search(asked)):
            return ""
        origin = self.code.origin(self.module, path) if path and "." not in path else None
        if origin and origin.module and origin.name in origin.module.functions:
            return f"{self.plan.needs_own(origin)}({self.given(call)})"
        if not call.args and not call.keywords and (found := sayer_of(self.code, self.module, asked)):
            return f"{self.plan.needs_own(found)}().{asked}()"
        return ""

    def local(self, name: str) -> ast.expr | None:
        """What a name is set to, where that is one thing."""
        return set_to(self.module, self.scope, name)

    # options of a command line

    def _namespace(self, path: str) -> str:
        """All options: as they are parsed, or as the dict that a script makes of them."""
        self._args()
        found = self.local(path)
        is_dict = found is not None and re.search(r"__dict__$|^vars\(", ast.unparse(found)) is not None
        return "config" if is_dict else "args"

    def _args(self, option: str = "") -> str:
        self.options = self.options or self._script(option)
        return "args"

    def _option(self, node: ast.expr) -> str:
        """``args.width`` or ``params["width"]`` → ``width``."""
        name = node.attr if isinstance(node, ast.Attribute) else ""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            name = str(node.slice.value)
        outer = dotted(node.value) if isinstance(node, ast.Attribute | ast.Subscript) else ""
        if not name or not (OPTIONS.fullmatch(outer) or self._is_parsed(outer)):
            return ""
        try:
            script = self.options or self._script(name)
        except Undecided:
            return ""
        return name if name in script.source.of_options else ""

    def _script(self, option: str) -> Module:
        """The script whose options are meant: this file, or the one that imports it and has the most."""
        here, asked = self.made.module, self._asked
        others = [each for each in self.code.modules.values() if each.source.of_options and not each.comes_last]
        if not others and not here.source.of_options:
            raise Undecided("the project has no options of a command line")

        def distance(each: Module) -> tuple[object, ...]:
            lacks = len({*asked, *([option] if option else [])} - {*each.source.of_options})
            usual = re.search("train|main|run", each.file) is not None
            is_far = each is not here, not self.code.imports(each, here), -shared(each.file, here.file)
            return lacks, *is_far, not usual, each.file

        return min({*others, *([here] if here.source.of_options else [])}, key=distance)

    @cached_property
    def _asked(self) -> set[str]:
        """The options that the class, or the call that makes its config, reads."""
        node = self.reads or self.plan.module.classes.get(self.plan.class_name)
        read = [access(each) for each in (ast.walk(node) if node else ()) if isinstance(each, ast.expr)]
        return {each.keys[0] for each in read if each and OPTIONS.fullmatch(each.root)}

    def _is_parsed(self, path: str) -> bool:
        found = self.local(path) if path else None
        return isinstance(found, ast.Call) and dotted(found.func).endswith(("parse_args", "parse_known_args"))

    # objects that are made

    def _of_dataclasses(self, name: str) -> str:
        """``name, … = HfArgumentParser((Arguments, …)).parse_args_into_dataclasses()`` → ``Arguments()``."""
        if not self.module.parses_dataclasses:
            return ""
        nodes = [node for outer in reversed(self.scope) for node in ast.walk(outer)]
        calls = [each for each in nodes if isinstance(each, ast.Call) and dotted(each.func).endswith("ArgumentParser")]
        tuples = [each.args[0].elts for each in calls if each.args and isinstance(each.args[0], ast.Tuple)]
        for node in nodes:
            targets = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(targets, ast.Tuple) and "into_dataclasses" in ast.unparse(node) and tuples:
                pairs = zip(targets.elts, tuples[0], strict=False)
                if made := next((each for target, each in pairs if dotted(target) == name), None):
                    return self._of_project(ast.copy_location(ast.Call(made, [], []), node))
        return ""

    def _of_project(self, call: ast.Call) -> str:
        """``Config()``: of a class of the project, by arguments that can be told."""
        origin = self.code.origin(self.module, dotted(call.func)) if dotted(call.func) else None
        if origin is None or origin.module is None:
            return ""
        if "." in origin.name:
            return self._of_a_method(origin, call)
        if origin.name not in origin.module.classes:
            return ""
        init = init_of(origin.module.classes[origin.name])
        return f"{self.plan.needs_own(origin)}({self.given(call, parameters_of(init)[1:] if init else [])})"

    def _of_a_method(self, origin: Origin, call: ast.Call) -> str:
        """``Encoder.made(cfg.width)``: of a class of the project that makes one of itself."""
        class_name, _, method = origin.name.partition(".")
        node = origin.module.classes.get(class_name) if origin.module else None
        those = (each for each in (node.body if node else ()) if isinstance(each, ast.FunctionDef))
        found = next((each for each in those if each.name == method and each.decorator_list), None)
        if found is None or dotted(found.decorator_list[0]) not in {"classmethod", "staticmethod"}:
            return ""
        skipped = dotted(found.decorator_list[0]) == "classmethod"
        own = self.plan.needs_own(origin._replace(name=class_name))
        return f"{own}.{method}({self.given(call, parameters_of(found)[skipped:])})"

    def _of_library(self, call: ast.Call) -> str:
        """``BertConfig(hidden_size=args.width)``, as it is written."""
        origin = self.code.origin(self.module, dotted(call.func)) if dotted(call.func) else None
        if origin is None or not origin.of_library.endswith("Config") or call.args:
            return ""
        return f"{self.plan.needs('transformers', origin.of_library)}({self.given(call)})"

    def given(self, call: ast.Call, parameters: Sequence[str] = ()) -> str:
        """The arguments of a call.

        :raises Undecided: for what nobody can tell.
        """
        if (by := self.module.source.rebound.change_of(call)) is not None:
            raise Undecided(f"what {called_name(call)} makes is changed later ({self.module.quoted(by)})")
        around = (each.args.kwarg for each in self.scope if isinstance(each, ast.FunctionDef))
        passed_on = {each.arg for each in around if each}
        stars = (each.value for each in call.keywords if not each.arg and dotted(each.value) not in passed_on)
        if open_ended := next(stars, None):
            where = f"{self.module.file}:{call.lineno}"
            raise Undecided(f"**{ast.unparse(open_ended)[:60]} is known only to a run ({where})")
        names = [*parameters, *("" for _ in call.args)]
        given = [self.of(each, name) for each, name in zip(call.args, names, strict=False)]
        given += [f"{each.arg}={self.of(each.value, each.arg)}" for each in call.keywords if each.arg]
        return ", ".join(given)
