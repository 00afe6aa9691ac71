"""What a class of the project is made of where the project makes it: the config, and what it takes beside it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.callers import config_calls, init_of, parameters_of
from pytest_bertsize.commands.init.python.code import Origin
from pytest_bertsize.commands.init.python.made import made_of
from pytest_bertsize.commands.init.python.plan import Plan, Undecided
from pytest_bertsize.commands.init.python.values import Values
from pytest_bertsize.config.flows import OF_SHAPE
from pytest_bertsize.config.python_nodes import assigned, defaults, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.commands.init.python.code import Code
    from pytest_bertsize.commands.init.python.made import Made
    from pytest_bertsize.commands.init.python.meant import Meanings
    from pytest_bertsize.commands.init.python.names import Named

MOST_BASES = 8
CONFIG = "@config"
"""Stands for the config until it is known where that is from."""
OF_TORCH = frozenset({"Module", "LightningModule"})
_NO_SHAPE = frozenset(
    {
        *("from_tf", "from_flax", "cache_dir", "state_dict", "output_loading_info", "force_download", "revision"),
        *("local_files_only", "ignore_mismatched_sizes", "torch_dtype", "dtype", "device_map", "use_auth_token"),
        *("token", "trust_remote_code", "low_cpu_mem_usage", "use_safetensors", "finetuning_task", "do_lower_case"),
    }
)
"""Arguments of ``from_pretrained`` that say nothing of a shape."""


def plan_of(made: Made, name: str, code: Code, meanings: Meanings, *, runs_functions: bool = True) -> Plan:
    """The function that makes what a call makes.

    :param name: of the function.
    :param runs_functions: whether the project's own functions are asked for the labels.
    :raises Undecided: for arguments that nobody can tell.
    """
    assert made.origin.module is not None
    if (by := made.module.source.rebound.change_of(made.call)) is not None:
        raise Undecided(f"what it makes is changed later ({made.module.quoted(by)})")
    plan = Plan(name, made, made.origin.module)
    _Arguments(plan, meanings, Values(code, plan, runs_functions=runs_functions)).write()
    return plan


def plan_by_options(made: Made, name: str, code: Code) -> Plan | None:
    """The function that makes a class of the library, of a config call that reads options of another file.

    :raises Undecided: for sizes that nobody can tell.
    """
    given = next(iter(config_calls(code, made)), None) if made.origin.of_library else None
    if given is None:
        return None
    plan = Plan(name, made, given.module)
    values = Values(code, plan)
    values.reads = given.node
    config = values.at(given)
    if values.options in {None, given.module}:
        return None
    values.begin([config])
    plan.body.append(f"return {plan.needs('transformers', made.origin.of_library)}({config})")
    return plan


def plan_of_registered(made: Made, name: str, code: Code) -> Plan | None:
    """The function that makes a registered class by its own ``config_class``, whose arguments all have a default."""
    assert made.origin.module is not None
    around = code.origin(made.origin.module, made.origin.name)
    config = _config_class(code, around) if around else None
    if config is None or config.module is None:
        return None
    init = init_of(config.module.classes[config.name])
    if init is None or len(parameters_of(init)) - len([*defaults(init)]) > 1:
        return None
    plan = Plan(name, made, made.origin.module)
    try:
        own = plan.needs_own(made.origin)
    except Undecided:
        return None
    plan.body.append(f"return {own}({own}.config_class())")
    return plan


def _config_class(code: Code, origin: Origin, hops: int = 0) -> Origin | None:
    """What a class, or the nearest of those that it derives from, has as ``config_class``."""
    module = origin.module
    node = module.classes.get(origin.name) if module else None
    if module is None or node is None or hops > MOST_BASES:
        return None
    said = next((value for each in node.body for key, value in assigned(each) if key == "config_class"), None)
    if said is not None:
        found = code.origin(module, dotted(said))
        return found if found and found.module and found.name in found.module.classes else None
    bases = (code.origin(module, dotted(base)) for base in node.bases if dotted(base))
    return next((found for base in bases if base and (found := _config_class(code, base, hops + 1))), None)


class _Arguments:
    def __init__(self, plan: Plan, meanings: Meanings, values: Values) -> None:
        self.plan = plan
        self.made = plan.made
        self.meanings = meanings
        self.values = values
        self.named: Named | None = None
        self.config_call = ""
        self.computed: dict[str, str] = {}
        """Keys of the config that an expression says."""
        self.init = init_of(plan.module.classes[plan.class_name])

    def write(self) -> None:
        """Write the function's body, and say what its config is."""
        plan, class_name = self.plan, self.plan.needs_own(self.made.origin)
        is_of_torch = self.made.kind in OF_TORCH
        arguments = [*(self._plain() if is_of_torch else self._with_config())]
        config_class = plan.needs("transformers", "AutoConfig") if self._wants_auto(arguments) else ""
        config = self._config(config_class or f"{class_name}.config_class")
        arguments = [each.replace(CONFIG, config) for each in arguments]
        self.values.begin(arguments)
        plan.body.append(f"return {class_name}({', '.join(arguments)})")

    def _wants_auto(self, arguments: list[str]) -> bool:
        return self.made.kind in OF_TORCH and any(CONFIG in each for each in arguments)

    def _config(self, config_class: str) -> str:
        """How the function comes to the config; what its table names is said as well."""
        named = self.named
        if self.values.options or self.values.settings:
            return self._by_its_name(f"{config_class}.from_pretrained") if named else CONFIG
        self.plan.config = named.reference if named else self.config_call
        given = f"**{{**config, {', '.join(f'{key!r}: {said}' for key, said in self.computed.items())}}}"
        given = given if self.computed else "**config"
        return f"{config_class}({given})" if config_class != "AutoConfig" else f"AutoConfig.for_model({given})"

    def _by_its_name(self, load: str) -> str:
        """``Tagger.config_class.from_pretrained(args.model)``: by the option or constant that says the name."""
        named, plan = self.named, self.plan
        assert named is not None
        said = {**{key: repr(value) for key, value in plan.overrides.items()}, **self.computed}
        more = "".join(f", {key}={value}" for key, value in said.items())
        plan.overrides.clear()
        if named.module is self.values.options and "." not in named.place:
            return f"{load}(args.{named.place}{more})"
        constant, *keys = named.place.split(".")
        if named.module is not None and named.module.is_constant(constant):
            folder = self.made.origin.folder
            is_below = named.module.file.startswith(f"{folder}/")
            plan.needs_own(Origin(named.module, constant, folder if is_below else ""))
            return f"{load}({constant}{''.join(f'[{key!r}]' for key in keys)}{more})"
        plan.notes.append(f"{named.where} names it")
        return f"{load}({named.name!r}{more})"

    # a class of the library's kind: Model(config, …) or Model.from_pretrained(name, config=…, …)

    def _with_config(self) -> Iterator[str]:
        made = self.made
        given = {each.arg: each.value for each in made.call.keywords if each.arg and each.arg not in _NO_SHAPE}
        positional = [*made.call.args]
        first = given.pop("pretrained_model_name_or_path", None) if made.is_pretrained else None
        first = positional.pop(0) if made.is_pretrained and positional and first is None else first
        config = given.pop("config", None)
        if config is None and positional:
            config = positional.pop(0)
        self._find_config(first, config)
        yield CONFIG
        for name in self._parameters[1:]:
            if (value := given.pop(name, positional.pop(0) if positional else None)) is not None:
                yield f"{name}={self.values.of(value, name)}"
            elif name not in self._with_default:
                raise Undecided(f"its argument {name} is not given")
        for name, value in given.items():
            if self.init is not None and self.init.args.kwarg is not None and name != "num_labels":
                yield f"{name}={self.values.of(value, name)}"
            else:
                self._override(name, value)

    def _override(self, name: str, value: ast.expr) -> None:
        """A key that the config is given beside what it says, where it can be told."""
        before = self.plan.as_it_is()
        try:
            written = self.values.of(value, name)
        except Undecided:
            self.plan.put_back(before)
            return self._say_unread(name, value, "what the config says") if OF_SHAPE.match(name) else None
        try:
            self.plan.overrides[name] = ast.literal_eval(written)
        except (ValueError, SyntaxError):
            self.computed[name] = written
        return None

    def _say_unread(self, name: str, value: ast.expr, stands_in: str) -> None:
        where = f"{self.made.module.file}:{value.lineno}"
        self.plan.notes.append(
            f"{name} = {ast.unparse(value)[:60]} is known only to a run ({where}): {stands_in} stands in"
        )

    def _give_later(self, call: ast.Call) -> None:
        """What the file gives a config after the call that makes it.

        :raises Undecided: for what only a run can tell.
        """
        after = self.made.module.source.rebound.after(call)
        unsure = next((each.statement for each in after.given.values() if each.value is None), None)
        if (by := after.changed or unsure) is not None:
            raise Undecided(f"its config is changed later ({self.made.module.quoted(by)})")
        for key, each in after.given.items():
            if each.value is not None:
                self._override(key, each.value)

    def _find_config(self, first: ast.expr | None, config: ast.expr | None) -> None:
        """Find out what the config is made of.

        :raises Undecided: where nothing tells.
        """
        made = self.made
        asked = [first]
        if (call := made_of(made, config)) is not None:
            path = dotted(call.func)
            if path.endswith("Config"):
                self.config_call = f"{made.module.file}#{path.rpartition('.')[2]}"
                return
            asked = [*call.args[:1], first]
            for each in call.keywords:
                if each.arg and each.arg not in _NO_SHAPE:
                    self._override(each.arg, each.value)
            self._give_later(call)
        self.named = self.meanings.of_any(asked, made.module, made.place, made.kind)
        if self.named is None:
            said = ast.unparse(first)[:60] if first is not None else "its config"
            raise Undecided(f"{said} names no published model, nor a file of the project")

    # any class

    def _plain(self) -> Iterator[str]:
        for index, value in enumerate(self.made.call.args):
            if isinstance(value, ast.Starred):
                raise Undecided(f"{ast.unparse(value)} is known only to a run")
            yield self._value(value, self._parameters[index] if index < len(self._parameters) else "")
        for each in self.made.call.keywords:
            if each.arg is None:
                raise Undecided(f"**{ast.unparse(each.value)} is known only to a run")
            try:
                yield f"{each.arg}={self._value(each.value, each.arg)}"
            except Undecided:
                if each.arg not in self._with_default:
                    raise
                self._say_unread(each.arg, each.value, f"the default of {self.plan.class_name}")

    def _value(self, node: ast.expr, name: str) -> str:
        call = made_of(self.made, node) if not isinstance(node, ast.Constant) else None
        if call is not None and dotted(call.func).rpartition(".")[0].endswith("Config"):
            self._find_config(None, call)
            return CONFIG
        return self.values.of(node, name)

    @property
    def _parameters(self) -> list[str]:
        if self.init is None:
            return ["config"]
        return [each.arg for each in (*self.init.args.args, *self.init.args.kwonlyargs)][1:]

    @property
    def _with_default(self) -> set[str]:
        arguments = self.init.args if self.init else None
        if arguments is None:
            return set()
        said = arguments.args[len(arguments.args) - len(arguments.defaults) :]
        return {each.arg for each in (*said, *arguments.kwonlyargs)}
