"""``bertsize init acme.models:build``: build a class of the project once, and propose its table and its lock."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import tomli
from msgspec.structs import replace

from pytest_bertsize.base import NoRevision
from pytest_bertsize.base.git import ask_git, find_repository
from pytest_bertsize.base.lock import merge_accepted, read_lock, render_lock
from pytest_bertsize.builder.failures import suggest_fix
from pytest_bertsize.builder.messages import OF_DISK, Built, NotBuilt, Request, Why
from pytest_bertsize.builder.published import CONFIG, HUB_CACHE, find_in, in_cache, suggest_fetching
from pytest_bertsize.closed_forms.contributed import registry_of
from pytest_bertsize.commands.console import FOUND, GOOD, print_mistakes, say
from pytest_bertsize.commands.init.command import choose_next, print_toml, warn_of_roots, wrap_text
from pytest_bertsize.commands.init.own_class import Discovery, Draft, plan_variations, write_in_keys
from pytest_bertsize.commands.init.project import read_project, write_lock
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.release import Unsupported, read_version
from pytest_bertsize.review.build_findings import describe_hidden
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table import rewrite
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Lock as NamedLock
from pytest_bertsize.table.model import Model, check_factory, check_model_name, read_kwargs, split_command
from pytest_bertsize.table.settings import SettingsError, load, parse
from pytest_bertsize.table.toml import inline, quoted
from pytest_bertsize.wording import plural, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.project import Project
    from pytest_bertsize.review.review import Review

LOCK = "bertsize.lock"
"""The name of the lock's file, if the table names none."""
FACTORY = """\
write a function that makes it, for example in bertsize_models.py

  def build_{name}():
      from {module} import {made}

      return {made}(...)  # the arguments in your script

and declare it: bertsize init bertsize_models:build_{name}"""
KEPT = ("keys", "ignored", "overrides", "build")
"""Keys of a declared model that change its build, or the reading of its config."""
_VERBS = re.compile(r"^(build|make|create|get|load|init|new)_|_(factory|builder)$")
_PINNED = re.compile(r"""^\s*["'-]?\s*["']?transformers\s*(?:\[[^]]*\])?\s*={1,3}\s*([0-9][\w.]*)""", re.MULTILINE)
MORE = "4GB"
"""The memory of a build that needs more than a build of the project's code gets."""
_PINS = ("pyproject.toml", "requirements*.txt", "requirements/*.txt", "setup.py", "setup.cfg", "environment*.y*ml")

Copies = Mapping[str, tuple[str, str]]
"""Paths and texts of copied configs, by the names under which the code asks for them."""


class Wish(NamedTuple):
    """The options of the command line that concern the model."""

    factory: str
    name: str = ""
    config: str = ""
    kwargs: Mapping[str, Any] = {}
    writes: bool = False
    is_named: bool = True
    """True if the command line names the project's folder."""


def declare(root: Path, wish: Wish, helper: Helper, out: TextIO, err: TextIO) -> int:
    """Propose the table of a model that the project's own code makes, or write it with its lock.

    :param root: the folder of the pyproject.toml, which may be missing.
    :returns: the exit status.
    """
    try:
        _check_wish(wish)
        project = read_project(root, is_named=wish.is_named)
        named = project.settings.lock or NamedLock(LOCK)
        lock = read_lock(replace(project.settings, lock=named))
        assert lock
        name, kept = _choose_name(wish, project)
        draft = Draft(name, wish.factory, wish.kwargs, wish.config, kept=kept)
        registry = registry_of(project.settings, asked_about(project.settings).release)
        draft, request, built = _build(project, registry, helper, draft, wish)
        if isinstance(built, NotBuilt):
            return _say_not_built(built, wish, err)
        if built.handed_as not in {"", name}:  # the script's own name for it
            wish = wish._replace(name=built.handed_as)
            if wish.name in project.settings.models:  # whose other keys may change the build
                return declare(root, wish, helper, out, err)
            draft = replace(draft, name=wish.name)
        discovery = Discovery(project, registry, built, draft)
        found = discovery.run()
        if found.extra:
            found = _write_keys(discovery, found, request, helper, err)
        uncommitted = _find_uncommitted(discovery, found)
        copies = _list_copies(discovery, found, uncommitted)
        if wish.writes:
            _write_files(discovery, found, lock, copies)
    except SettingsError as error:
        return print_mistakes([str(error)], err)
    finally:
        helper.stop()
    for line in _list_notes(discovery, found, lock, uncommitted, copies):
        say(wrap_text(line, "- ", "  "), err)
    if wish.writes:
        say(f"{project.path.name} declares {found.name}, and {lock.file} has its tensors", out)
        before = project.settings.models.get(found.name)
        command = _say_limits(discovery, found, before, out) if before else choose_next(project)
        written = "both files" if not copies else f"both files and {', '.join(path for path, _ in copies.values())}"
        say(f"next: {command}, and commit {written}", out)
    else:
        print_toml("\n".join((*([] if project.settings.lock else [write_lock(lock.file)]), str(found))), out)
        say(f"nothing is written; {_describe_next(wish, found, project)}", err)
    for line in warn_of_roots(project):
        say(wrap_text(line), err)
    return GOOD


def _build(
    project: Project, registry: Registry, helper: Helper, draft: Draft, wish: Wish
) -> tuple[Draft, Request, Built | NotBuilt]:
    """Build the factory's model, on the CPU or with more memory if its code needs that."""
    if interpreter := project.settings.interpreter:
        helper.build_with(interpreter.path, interpreter.written)
    draft, request, built = _ask_for(draft, draft.name, project, registry, helper, wish)
    if isinstance(built, NotBuilt) and "build" not in draft.kept:
        needs = {"device": "cpu"} if built.kind is Why.ON_META else {"memory": MORE} if built.lacks_memory else {}
        if needs:
            return _ask_for(replace(draft, build=needs), f"{draft.name} once more", project, registry, helper, wish)
    return draft, request, built


def _ask_for(
    draft: Draft, name: str, project: Project, registry: Registry, helper: Helper, wish: Wish
) -> tuple[Draft, Request, Built | NotBuilt]:
    settings = project.parse_beside(str(draft))
    subject = examine(settings.models[draft.name], settings, registry)
    if subject.request is None:
        raise SettingsError("; ".join(each.sentence for each in subject.errors))
    request = subject.request._replace(name=name, declared=wish.name)
    helper.ask([request])
    return draft, request, helper.result(name)


def _write_keys(discovery: Discovery, found: Draft, request: Request, helper: Helper, err: TextIO) -> Draft:
    """Return the draft with keys in place of numbers that depend on them; unchanged if the built model then fails."""
    planned = plan_variations(discovery.backbones, found, request)
    if not planned:
        return found
    more = plural(len(planned), "time")
    say(f"building it {more} more, each with another size, to find the keys on which its sizes depend", err)
    helper.ask([each.request for each in planned])
    results = ((each, helper.result(each.request.name)) for each in planned)
    varied = [(each, built) for each, built in results if isinstance(built, Built)]
    in_keys = replace(found, extra=tuple(write_in_keys(found.extra, varied)))
    return found if discovery.find_error(in_keys) else in_keys


def _write_files(discovery: Discovery, found: Draft, lock: Lock, copies: Copies) -> None:
    """Write the table, the lock of the built model, and copies of configs.

    :raises SettingsError: if one of these files cannot be written; then none of them changes.
    """
    project = discovery.project
    file = "" if project.settings.lock else lock.file
    if found.name in project.settings.models:
        after = _replace_limits(discovery, found, project.replace_table(found.name, found.keys, file))
    else:
        hub = "".join(f"{quoted(name)} = {quoted(path)}\n" for name, (path, _) in copies.items())
        after = project.add_tables([*([f"[tool.bertsize.hub]\n{hub}"] if hub else []), str(found)], file)
    now = discovery.examine(found).to_locked(discovery.built)
    models = merge_accepted(lock.models, {found.name: now}, {*project.settings.models, found.name})
    for path, _ in copies.values():
        (project.root / path).parent.mkdir(parents=True, exist_ok=True)
    rewrite.replace_together(
        *((project.root / path, None, text) for path, text in copies.values()),
        (project.root / lock.file, lock.text, render_lock(models)),
        (project.path, project.text, after),
    )


def _list_copies(
    discovery: Discovery, found: Draft, uncommitted: Mapping[str, Uncommitted]
) -> dict[str, tuple[str, str]]:
    """Return, by name, the copy's path and the text of each config that a checkout lacks and ``--write`` copies.

    Such a config is in the hub cache, outside the project, or ignored by git.
    """
    project, copies = discovery.project, {}
    if project.settings.hub or found.name in project.settings.models:
        return {}
    for name, lacking in uncommitted.items():
        file = project.root / lacking.path
        config = file / CONFIG if file.is_dir() else file
        if name and config.is_file() and not (project.root / lacking.copy).exists():
            text = config.read_text("utf-8", "replace")
            copies[name] = lacking.copy, text
    for each in discovery.built.answered:
        path = f"configs/{each.name}/{CONFIG}"
        cached = in_cache(each.name) if each.origin.startswith(HUB_CACHE) else None
        if cached and not (project.root / path).exists():
            copies[each.name] = path, cached.config.decode("utf-8", "replace")
    return copies


def _list_notes(
    discovery: Discovery, found: Draft, lock: Lock, uncommitted: Mapping[str, Uncommitted], copies: Copies
) -> Iterator[str]:
    """Yield the notes on the model that are printed beside its table."""
    built, root = discovery.built, discovery.project.root
    for each in built.answered:
        lacks = ""
        if each.origin.startswith(HUB_CACHE):
            copy = f"--write copies it to {copies[each.name][0]}" if each.name in copies else ""
            lacks = f", which CI lacks: {copy or suggest_fetching(each.name).sentence}"
        yield f"from_pretrained({each.name!r}) was answered with a config from {each.origin}{lacks}"
    yield from built.stood_in
    hidden = "; ".join((describe_hidden(built.hidden), *(each.fix for each in built.hidden)))
    yield from [f"only the lock has what nothing trains or saves: {hidden}"] if built.hidden else []
    if discovery.problem:
        yield f"{found.name} is compared with its lock and its budget alone: {discovery.problem}"
    if numbers := [row.name for row in found.extra if any(isinstance(size, int) for size in row.sizes)]:
        named = ", ".join(map(printable, numbers))
        yield f"{named}: no key of a config or of kwargs was found for the sizes that are written as numbers"
    of_configs = {key: value for each in built.finished for key, value in each.config.items()}
    if read := [key for key, value in found.numbers.items() if found.extra and of_configs.get(key, value) != value]:
        yield f"extra reads {' and '.join(map(printable, read))} from kwargs, and not from the config"
    pinned = {version: file for file, version in _find_pins(root) if version != built.transformers}
    for version, file in pinned.items():
        fix = 'write python = ".venv/bin/python" in [tool.bertsize] to build in the project\'s environment'
        try:
            read_version(version)
        except Unsupported as error:
            fix = f"{error}, and builds no model here"
        yield f"{file} pins transformers {version}, but {built.transformers} built it: {fix}"
    if _is_ignored(root, lock.file):
        yield f"git ignores {lock.file}, which has to be committed: add !{lock.file} to .gitignore"
    for name, lacking in uncommitted.items():
        fix = f"--write copies it to {lacking.copy}" if name in copies else lacking.fix
        yield f"{lacking.where}, so a checkout lacks it: {fix}"


class Uncommitted(NamedTuple):
    """A config that is outside the project, or that git ignores."""

    path: str
    where: str
    """A clause: ``git ignores out``."""
    copy: str
    """The path of a copy that the project can commit."""
    fix: str
    """The way out: ``commit a copy of …``."""


def _find_uncommitted(discovery: Discovery, found: Draft) -> dict[str, Uncommitted]:
    """Return each such config by the name for which the code asks, and by ``""`` for the table's config."""
    root, hub = discovery.project.root, discovery.project.settings.hub
    top = _find_top(root)
    uncommitted: dict[str, Uncommitted] = {}
    by_name = [each for each in discovery.built.answered if each.by_hub or each.origin in OF_DISK]
    read = {"": found.config.partition("#")[0]}
    read |= {each.name: hub.get(find_in(hub, each.name) or "", each.name) for each in by_name}
    for name, path in read.items():
        is_outside = path and (top if name else root).resolve() not in (root / path).resolve().parents
        if is_outside or (path and _is_ignored(root, path)):
            where = f"{printable(path)} is outside the project" if is_outside else f"git ignores {printable(path)}"
            number = f"-{len(uncommitted) + 1}" if uncommitted else ""
            copy = f"configs/{found.name}{number}.json"
            key = f"hub = {inline({name: copy})}" if name else f"config = {inline(copy)}"
            fix = f"commit a copy of the config as {copy}, and write {key}"
            if (root / path).is_dir() and not (root / path / CONFIG).is_file():  # a tokenizer's folder
                fix = f"commit its files (git add --force {shlex.quote(path)})"
            uncommitted[name] = Uncommitted(path, where, copy, fix)
    return uncommitted


def _is_ignored(root: Path, path: str) -> bool:
    """Return whether git ignores an existing file, or the config in a folder, or a folder without one."""
    file = root / path / CONFIG if (root / path / CONFIG).is_file() else root / path
    listed = ask_git(root, "ls-files", "--cached", "--others", "--exclude-standard", "--", str(file.relative_to(root)))
    return file.exists() and listed is not None and listed.returncode == 0 and not listed.stdout


def _review_written(discovery: Discovery, found: Draft, text: str) -> Review:
    """Review the built model by its table in ``text``, which is a new text of pyproject.toml."""
    settings = parse(text, discovery.project.path)
    subject = replace(discovery.examine(found), model=settings.models[found.name], settings=settings)
    return discovery.review(subject)


def _replace_limits(discovery: Discovery, found: Draft, text: str) -> str:
    """Return ``text`` with the proposed limits in place of limits on components that the model no longer has."""
    review = _review_written(discovery, found, text)
    model = review.subject.model
    gone = [each.component for each in review.errors if each.kind == "config-invalid" and each.component]
    limited = {limit.component for limit in model.limits}
    proposed = {name: limit for name, limit in found.limits if name not in limited}
    limits = {**dict.fromkeys(gone, ""), **proposed} if gone else {}
    return discovery.project.replace_keys(text, (*model.table_key, "budget"), limits) if gone else text


def _say_limits(discovery: Discovery, found: Draft, before: Model, out: TextIO) -> str:
    """Report the limits of a rewritten table; return the next command."""
    project = discovery.project
    review = _review_written(discovery, found, load(project.path).text)
    limits, earlier = ({each.component for each in limits} for limits in (review.budget, before.limits))
    gone, new = (", ".join(map(printable, sorted(each))) for each in (earlier - limits, limits - earlier))
    instead = f", but for {gone}, which it no longer has{f'; {new} is limited now' if new else ''}" if gone else ""
    say(wrap_text(f"its limits are unchanged{instead}"), out)
    if not (gone or review.errors):
        return choose_next(project)
    return f'bertsize accept {found.name} --reason "…"{_name_folder(project)}, which raises the limits that fail'


def _check_wish(wish: Wish) -> None:
    """:raises SettingsError: for malformed names, and for arguments that no table can hold."""
    try:
        check_factory(wish.factory)
        check_model_name(wish.name or "model")
    except ValueError as error:
        raise SettingsError(str(error).replace("write factory = ", "name ")) from None
    nulls = (f"{name} is {shown(each)}, and TOML has no null" for name, each in wish.kwargs.items() if _has_null(each))
    problem = next(nulls, "")
    try:
        read_kwargs(wish.kwargs)
    except ValueError as error:
        problem = str(error)
    if problem:
        raise SettingsError(f"--kwargs: {problem}; leave it out, or name a function of the project that passes it")


def _has_null(value: object) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(map(_has_null, inner))


def _choose_name(wish: Wish, project: Project) -> tuple[str, dict[str, str]]:
    """Return the model's name, by default after the function, and the keys in ``KEPT`` of its table, as TOML.

    A declared model is the requested one by its factory and arguments, or by the requested name.

    :raises SettingsError: if another model has this name.
    """
    name = wish.name or _name_after(wish.factory)
    model = project.settings.models.get(name)
    here = wish.factory, wish.config, dict(wish.kwargs)
    if model and model.init_command and (wish.name or (model.factory, model.config, dict(model.kwargs)) == here):
        table: Any = reduce(getitem, model.table_key, tomli.loads(project.text or ""))
        return name, {key: inline(table[key]) for key in KEPT if key in table}
    if wish.writes and model:
        what = f"{project.path.name} declares another {shown(name)} already"
        anew = f", or --name {name}, which rewrites that table" if model.init_command else ""
        raise SettingsError(f"{what}: give another name (--name){anew}")
    return name, {}


def _name_after(factory: str) -> str:
    """Return ``ner_tagger`` for ``acme.models:build_NerTagger``, ``train`` for ``python acme/train.py --width 64``.

    A digit does not begin a word: the name is ``bert2cnn1d`` for ``acme.models:Bert2CNN1D``.
    """
    script = next((word for word in split_command(factory) if word != "-m"), factory)
    last = re.split("[:./]", script.removesuffix(".py"))[-1]
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", last).lower()
    return _VERBS.sub("", words).strip("_") or "model"


def _say_not_built(failed: NotBuilt, wish: Wish, err: TextIO) -> int:
    fix = suggest_fix(failed, own=True)
    if failed.kind is Why.ARGUMENTS:
        give = "correct --kwargs" if wish.kwargs else f"give it {'' if wish.config else '--config or '}--kwargs"
        fix = f"{give}, or name a function that calls it with its arguments"
    print_mistakes([f"{wish.factory} could not be built: {failed.reason}; {fix}"], err)
    if failed.kind is Why.ARGUMENTS:
        module, _, path = wish.factory.partition(":")
        say(FACTORY.format(name=_name_after(wish.factory), module=module, made=path.partition(".")[0]), err)
    return FOUND


def _describe_next(wish: Wish, found: Draft, project: Project) -> str:
    """Return a sentence with the command that writes the printed table."""
    anew = f" in place of those that {project.path.name} has" if found.name in project.settings.models else ""
    model = Model(factory=wish.factory, name=wish.name, config=wish.config, kwargs={**wish.kwargs}, budget=Budget())
    return f"this writes the table and its lock{anew}: {model.init_command}{_name_folder(project)} --write"


def _name_folder(project: Project) -> str:
    folder = os.path.relpath(project.root)
    return f" --project {shlex.quote(folder)}" if folder != os.curdir else ""


def _find_pins(root: Path) -> Iterator[tuple[str, str]]:
    """Yield each file of the project or its repository that pins a release of transformers, and the release."""
    for folder in dict.fromkeys((_find_top(root), root)):
        for path in (path for pattern in _PINS for path in sorted(folder.glob(pattern)) if path.is_file()):
            found = _PINNED.findall(path.read_text("utf-8", errors="replace"))
            yield from ((os.path.relpath(path, root), version) for version in found)


def _find_top(root: Path) -> Path:
    """Return the root of the repository; the project's folder if there is no repository."""
    try:
        return find_repository(root).root
    except NoRevision:
        return root
