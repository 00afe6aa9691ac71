"""``bertsize explain CONFIG --draft module:factory``: a draft of a closed form, and on stderr what to do with it."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.builder.messages import NotBuilt, Request
from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.commands.console import GOOD, mistaken, say
from pytest_bertsize.commands.explain.draft.drafting import drafted
from pytest_bertsize.commands.explain.draft.python import python
from pytest_bertsize.commands.named_model import read
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.review.build_request import without_closed_form
from pytest_bertsize.table.names import function_name
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.commands.explain.draft.drafting import Ask, Changed
    from pytest_bertsize.commands.named_model import Named
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings

FILE = "sizes/forms.py"


def draft(named: Named, factory: str, out: TextIO, err: TextIO, *, start: Callable[[], Helper] = Helper) -> int:
    """Build what a function of the project builds, at several sizes, and print the draft.

    :param factory: ``module:function``, called as one that the table names.
    :param start: makes the helper process of each round of builds.
    :returns: the exit status.
    """
    try:
        _refuse_what_is_no_function(factory)
        model, config, settings = read(named)
        _refuse_parts(config)
        model = replace(model, factory=factory, closed_form=False, backbone="", extra=(), without=(), options={})
        found = drafted({**config.data, **model.overrides}, _in_helper(model, settings, config, start))
    except Unusable as unusable:
        return mistaken(unusable, err)
    family = str(config.model_type or model.family or _words(factory.partition(":")[0].rpartition(".")[2])[0])
    architecture = named.architecture or _architecture(factory, family)
    say(python(found, factory, family, architecture).rstrip("\n"), out)
    say(_to_write(named, factory, "" if config.model_type else family, architecture), err)
    return GOOD


def _refuse_what_is_no_function(factory: str) -> None:
    try:
        function_name(factory)
    except ValueError as error:
        message = f"--draft {printable(factory)}: {error}"
        raise Unusable(Finding("config-invalid", message, "write --draft module:function")) from None


def _refuse_parts(config: ModelConfig) -> None:
    if config.parts:
        message = f"{config.reference} is put together of {', '.join(config.parts)}: a draft is of one config"
        raise Unusable(Finding("config-invalid", message, "draft each part by itself"))


def _in_helper(model: Model, settings: Settings, config: ModelConfig, start: Callable[[], Helper]) -> Ask:
    """Each round of builds in a helper process of its own, by the requests that a gate would make."""

    def ask(tries: Sequence[Changed]) -> Sequence[Built | NotBuilt]:
        requests: dict[int, Request] = {}
        for at, changed in enumerate(tries):
            # a value that no config may have is refused like any other
            with suppress(Unusable) if at else nullcontext():
                one = replace(model, name=str(at), overrides={**model.overrides, **changed})
                requests[at] = without_closed_form(one, settings, config, Registry(), None)
        helper = start()
        try:
            if settings.interpreter:
                helper.build_with(settings.interpreter.path, settings.interpreter.written)
            helper.ask([*requests.values()])
            return [helper.result(str(at)) if at in requests else NotBuilt("refused") for at in range(len(tries))]
        finally:
            helper.stop()

    return ask


def _words(name: str) -> list[str]:
    return [word for word in name.split("_") if word] or ["own"]


def _architecture(factory: str, family: str) -> str:
    """What the class is called: as the function is, where that is the class, else as the module is."""
    module, _, function = factory.partition(":")
    name = function.rpartition(".")[2]
    if not name[0].isupper():
        name = "".join(word.capitalize() for word in _words(module.rpartition(".")[2]))
    taken = family in FAMILIES and FAMILIES[family].architecture(name)
    return f"Own{name}" if taken else name


def _quoted(value: str) -> str:
    """For TOML, and for a terminal, which obeys more characters than those that TOML has to escape."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in text)


def _to_write(named: Named, factory: str, family: str, architecture: str) -> str:
    said = {"factory": factory, "config": named.config, "family": family, "architecture": architecture}
    rows = "".join(f"{key} = {_quoted(value)}\n" for key, value in said.items() if value)
    return (
        f"A draft: what it says is what the class does. Put it into a file of the project, as {FILE}, and write\n\n"
        f"[tool.bertsize]\nclosed_forms = [{json.dumps(FILE)}]\n\n[tool.bertsize.models.NAME]\n{rows}"
        'budget = "report-only"\n\n'
        "Then hold it against the paper, and write read_by: until then every report says that nobody has."
    )
