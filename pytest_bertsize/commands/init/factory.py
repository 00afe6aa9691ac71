"""``bertsize init acme.models:build``: build a class of the project once, and propose its table and its lock."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import count
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import tomli
from msgspec.structs import replace

from pytest_bertsize.base import NoRevision
from pytest_bertsize.base.git import ask_git, find_repository
from pytest_bertsize.base.lock import merge_accepted, read_lock, render_lock
from pytest_bertsize.builder.messages import OF_DISK, Answered, Built, NotBuilt, Request, Why
from pytest_bertsize.builder.published import CONFIG, HUB_CACHE, find_in, in_cache
from pytest_bertsize.closed_forms.registry import registry_of
from pytest_bertsize.commands.console import FOUND, GOOD, print_mistakes, say
from pytest_bertsize.commands.init.command import say_marked
from pytest_bertsize.commands.init.own_class import Discovery, Draft, plan_variations, write_in_keys
from pytest_bertsize.commands.init.project import read_project, write_heading
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.review.build_findings import REGISTER, describe_hidden
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table import rewrite
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import TABLE, Kwargs, Model, check_factory, check_model_name, split_command
from pytest_bertsize.table.model import Lock as NamedLock
from pytest_bertsize.table.reading import read_value
from pytest_bertsize.table.settings import SettingsError, parse
from pytest_bertsize.table.toml import inline
from pytest_bertsize.wording import listed, plural, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.project import Project
    from pytest_bertsize.table.settings import Settings

LOCK = "bertsize.lock"  # the name of the lock's file, if the table names none
KEPT = ("keys", "ignored", "overrides", "build")  # keys that change a declared model's build or its config
MORE = "4GB"  # the memory of a build that needs more than a build of the project's code gets
LONGER = 120  # the seconds of a build that takes longer than a build gets
# Reasons why a checkout lacks a file.
OUTSIDE, IGNORED, UNTRACKED = "it is outside the repository", "git ignores it", "git does not track it yet"
_VERBS = re.compile(r"^(build|make|create|get|load|init|new)_|_(factory|builder)$")


# Copies, which the project can commit, of configs that a checkout lacks: path and text by name.
Copies = Mapping[str, tuple[str, str]]


def declare(
    root: Path, wish: Draft, helper: Helper, out: TextIO, err: TextIO, *, writes: bool = False, is_named: bool = True
) -> int:
    """Propose the table of a model that the project's own code makes, or write it with its lock.

    :param wish: the options of the command line that concern the model; its name may be ``""``.
    :param is_named: true if the command line names the project's folder.
    """
    try:
        _check_wish(wish)
        project = read_project(root, is_named=is_named)
        lock = read_lock(replace(project.settings, lock=project.settings.lock or NamedLock(LOCK)))
        assert lock
        registry = registry_of(project.settings, asked_about(project.settings).release)
        draft, request, built = _build(project, registry, helper, wish, err, writes=writes)
        if isinstance(built, NotBuilt):
            return _say_not_built(built, wish, err)
        if built.handed_as not in {"", draft.name}:  # the script's own name for it
            wish = replace(wish, name=built.handed_as)
            if wish.name in project.settings.models:  # whose other keys may change the build
                return declare(root, wish, helper, out, err, writes=writes, is_named=is_named)
            draft = replace(draft, name=wish.name)
        discovery = Discovery(project, registry, built, draft)
        found, failed = _find_keys(discovery, request, helper, err)
        copies = _copy_configs(project, built, found.name)
        next_command = _write_files(discovery, found, lock, copies, out) if writes else ""
    except SettingsError as error:
        return print_mistakes([str(error)], err)
    finally:
        helper.stop()
    for line in _list_notes(discovery, found, lock, copies, failed):
        say_marked("- ", line, err)
    if writes:
        written = ", ".join(("both files", *(path for path, _ in copies.values())))
        say(f"next: {next_command}, and commit {written}", out)
    else:
        of_all = write_heading() + f"lock = {inline(lock.file)}\n"
        say("\n".join((*([] if project.settings.lock else [of_all]), str(found))).rstrip("\n"), out)
        anew = f" in place of those that {project.settings.file} has" if found.name in project.settings.models else ""
        model = Model(factory=wish.factory, name=wish.name, config=wish.config, kwargs={**wish.kwargs}, budget=Budget())
        command = f"{model.init_command}{project.option} --write"
        say(f"nothing is written; this writes the table and its lock{anew}: {command}", err)
    for line in project.warn_of_roots():
        say_marked("", line, err)
    return GOOD


def _check_wish(wish: Draft) -> None:
    """:raises SettingsError: for malformed names, and for arguments that no table can hold."""
    try:
        check_factory(wish.factory)
        check_model_name(wish.name or "model")
    except ValueError as error:
        raise SettingsError(str(error).replace("write factory = ", "name ")) from None
    try:
        inline(read_value(Kwargs, wish.kwargs))
    except ValueError as error:
        problem = f"{shown(wish.kwargs)} has a null, which TOML lacks" if "null" in shown(wish.kwargs) else str(error)
        fix = "leave it out, or name a function of the project that passes it"
        raise SettingsError(f"--kwargs: {problem}; {fix}") from None


def _build(
    project: Project, registry: Registry, helper: Helper, wish: Draft, err: TextIO, *, writes: bool
) -> tuple[Draft, Request, Built | NotBuilt]:
    """Build the factory's model, on the CPU or with more memory or time if its code needs that."""
    if interpreter := project.settings.interpreter:
        helper.build_with(interpreter.path, interpreter.written)
    name, kept = _choose_name(wish, project, writes=writes)
    draft = replace(wish, name=name, kept=kept)
    for times in ("", " once more"):
        settings = project.parse_beside(str(draft))
        subject = examine(settings.models[name], settings, registry)
        if subject.request is None:
            raise SettingsError("; ".join(each.sentence for each in subject.errors))
        request = subject.request._replace(name=f"{name}{times}", declared=wish.name)
        helper.ask([request])
        built = helper.result(request.name)
        if isinstance(built, Built) or "build" in kept or draft.build:
            break
        more: dict[Why, dict[str, str | int]] = {
            "memory": {"memory": MORE},
            "on-meta": {"device": "cpu"},
            "time": {"seconds": LONGER},
        }
        if built.kind not in more:
            break
        draft = replace(draft, build=more[built.kind])
        say(f"building it once more with build = {inline(draft.build)}, because {built.reason}", err)
    return draft, request, built


def _find_keys(discovery: Discovery, request: Request, helper: Helper, err: TextIO) -> tuple[Draft, str]:
    """Return the table with keys in place of the sizes that depend on them, and the trial builds that failed."""
    found = discovery.run()
    planned = plan_variations(discovery.backbones, found, request) if found.extra else []
    if not planned:
        return found, ""
    more = plural(len(planned), "time")
    say(f"building it {more} more, each with another size, to find the keys on which its sizes depend", err)
    helper.ask([each.request for each in planned])
    results = [(each, helper.result(each.request.name)) for each in planned]
    varied = [(each, model) for each, model in results if isinstance(model, Built)]
    in_keys = replace(found, extra=write_in_keys(found.extra, varied))
    failures = [f"{one.key} = {one.value}: {no.reason}" for one, no in results if isinstance(no, NotBuilt)]
    return found if discovery.find_error(in_keys) else in_keys, listed(failures, 2, "; ")


def _choose_name(wish: Draft, project: Project, *, writes: bool) -> tuple[str, dict[str, str]]:
    """Return the model's name, by default after the function, and its table's keys in ``KEPT``; refuse a used name."""
    name = wish.name or _name_after(wish.factory)
    model = project.settings.models.get(name)
    here = wish.factory, wish.config, dict(wish.kwargs)
    if model and model.init_command and (wish.name or (model.factory, model.config, dict(model.kwargs)) == here):
        table: Any = reduce(getitem, model.table_key, tomli.loads(project.text or ""))
        return name, {key: inline(table[key]) for key in KEPT if key in table}
    if writes and model:
        what = f"{project.settings.file} declares another {shown(name)} already"
        anew = f", or --name {name}, which rewrites that table" if model.init_command else ""
        raise SettingsError(f"{what}: give another name (--name){anew}")
    return name, {}


def _name_after(factory: str) -> str:
    """Return ``bert_crf`` for ``acme.models:build_BertCrf``, ``train`` for ``python acme/train.py --width 64``."""
    script = next((word for word in split_command(factory) if word != "-m"), factory)
    last = re.split("[:./]", re.sub(r"\.(py|sh)$", "", script))[-1]
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})", "_", last).lower()
    return _VERBS.sub("", words).strip("_") or "model"


def _say_not_built(failed: NotBuilt, wish: Draft, err: TextIO) -> int:
    fix = failed.suggest_fix(own=True)
    if failed.kind == "arguments":
        give = "correct --kwargs" if wish.kwargs else f"give it {'' if wish.config else '--config or '}--kwargs"
        made, build = wish.factory.partition(":")[2], f"build_{_name_after(wish.factory)}"
        function = f"a function {build} in bertsize_models.py that returns {made}(…) with your script's arguments"
        fix = f"{give}, or write {function}, and run bertsize init bertsize_models:{build}"
    print_mistakes([f"{wish.factory} could not be built: {failed.reason}; {fix}"], err)
    return FOUND


def _write_files(discovery: Discovery, found: Draft, lock: Lock, copies: Copies, out: TextIO) -> str:
    """Write table, lock and copies of configs, all or none; report it, and return the next command."""
    project = discovery.project
    of_all = {} if project.settings.lock else {"lock": inline(lock.file)}
    hub = {name: path for name, (path, _) in copies.items()}
    if hub and not project.settings.hub:
        of_all["hub"] = inline(hub)
    next_command, limits = project.next_command, ""
    if found.name in project.settings.models:
        after, limits, fails = _rewrite_table(discovery, found, of_all)
        if fails:
            accept = f'bertsize accept {found.name} --reason "…"{project.option}'
            next_command = f"{accept}, which raises the limits that fail"
    else:
        after = project.add_tables([str(found)], of_all)
    if hub and project.settings.hub:
        after = project.replace_keys(after, (*TABLE, "hub"), {name: inline(path) for name, path in hub.items()})
    now = discovery.examine(found).to_locked(discovery.built)
    models = merge_accepted(lock.models, {found.name: now}, {*project.settings.models, found.name})
    for path, _ in copies.values():
        (project.settings.root / path).parent.mkdir(parents=True, exist_ok=True)
    rewrite.replace_together(
        *((project.settings.root / path, None, text) for path, text in copies.values()),
        (project.settings.root / lock.file, lock.text, render_lock(models)),
        (project.settings.path, project.text, after),
    )
    say(f"{project.settings.file} declares {found.name}, and {lock.file} has its tensors", out)
    if limits:
        say_marked("", limits, out)
    return next_command


def _rewrite_table(discovery: Discovery, found: Draft, of_all: Mapping[str, str]) -> tuple[str, str, bool]:
    """Replace keys and limits of a declared model; return the text, a sentence, and whether a limit fails."""
    project = discovery.project
    after = project.replace_model(found.name, found.keys, of_all)
    settings = parse(after, project.settings.path)
    model = settings.models[found.name]
    review = discovery.review(replace(discovery.examine(found), model=model, settings=settings))
    gone = [each.component for each in review.errors if each.kind == "config-invalid" and each.component]
    if not gone:
        return after, "its limits are unchanged", bool(review.errors)
    limited = {limit.component for limit in model.limits}
    new = {name: limit for name, limit in found.limits if name not in limited}
    after = project.replace_keys(after, (*model.table_key, "budget"), {**dict.fromkeys(gone, ""), **new})
    named, instead = (", ".join(map(printable, each)) for each in (gone, new))
    said = f"its limits are unchanged, but for {named}, which it no longer has"
    return after, f"{said}{instead and f'; it now limits {instead}'}", True


def _copy_configs(project: Project, built: Built, name: str) -> Copies:
    """Return a copy of each config that the code asks for and a checkout lacks, by the config's name."""
    copies: dict[str, tuple[str, str]] = {}
    paths = (f"configs/{name}{f'-{number}' if number > 1 else ''}.json" for number in count(1))
    free = (path for path in paths if not (project.settings.root / path).exists())
    for each in built.answered:
        cached = in_cache(each.name) if each.origin.startswith(HUB_CACHE) else None
        text = cached.config if cached else None
        file = _find_file(project.settings, each)
        if text is None and file and _find_lack(project.settings, file) in {OUTSIDE, IGNORED}:
            text = file.read_bytes()
        if text is not None:
            copies[each.name] = next(free), text.decode("utf-8", "replace")
    return copies


def _find_file(settings: Settings, answered: Answered) -> Path | None:
    """Return the file of a config for which the code asks; ``None`` for one of the catalogue or the hub cache."""
    file = settings.root / settings.hub.get(find_in(settings.hub, answered.name) or "", answered.name)
    file = file / CONFIG if file.is_dir() else file
    return file if (answered.by_hub or answered.origin in OF_DISK) and file.is_file() else None


def _find_lack(settings: Settings, path: Path) -> str:
    """Return why a checkout lacks a file or a folder; ``""`` if it has it, or if that is unknown without git."""
    real = path.resolve()
    try:
        top = find_repository(settings.root).root
    except NoRevision:
        top = settings.root
    if not real.exists():
        return ""
    if top.resolve() not in real.parents:
        return OUTSIDE
    listed = ask_git(settings.root, "ls-files", "-t", "--cached", "--others", "--exclude-standard", "--", str(real))
    if listed is None or listed.returncode:
        return ""
    tags = {line[:1] for line in listed.stdout.splitlines()}
    return (UNTRACKED if tags == {b"?"} else "") if tags else IGNORED


def _list_notes(discovery: Discovery, found: Draft, lock: Lock, copies: Copies, failed: str) -> Iterator[str]:
    """Yield the notes beside the table; ``failed`` has the sizes of trial builds that failed, and why."""
    built, settings = discovery.built, discovery.project.settings
    for each in {os.path.normpath(each.name): each for each in built.answered}.values():
        file, lacks = _find_file(settings, each), ""
        if each.name in copies:
            lacks = f", which a checkout lacks: --write copies it to {copies[each.name][0]}"
        elif file and (lack := _find_lack(settings, file)):
            lacks = f", which a checkout lacks, as {lack}: commit {printable(os.path.relpath(file, settings.root))}"
        yield f"from_pretrained({each.name!r}) was answered with a config from {each.origin}{lacks}"
    yield from built.stood_in
    if built.hidden:
        yield f"only the lock has what nothing trains or saves: {describe_hidden(built.hidden)}; {REGISTER}"
    if discovery.problem:
        yield f"{found.name} is compared with its lock and its budget alone: {discovery.problem}"
    if numbers := [row.name for row in found.extra if any(isinstance(size, int) and size > 1 for size in row.sizes)]:
        why = "no key of a config or of kwargs was found for the sizes that are written as numbers"
        if failed:
            why = "sizes are written as numbers, and a key for them may be missing, as a trial build failed"
            why = f"{why} with {failed}"
        yield f"{', '.join(map(printable, numbers))}: {why}"
    for path in filter(None, (found.config.partition("#")[0], lock.file)):
        lack = _find_lack(settings, settings.root / path)
        if lack and (path, lack) != (lock.file, UNTRACKED):  # the lock is new
            commit = f"commit it (git add{' --force' * (lack == IGNORED)} {shlex.quote(path)})"
            yield f"{printable(path)}: a checkout lacks it, as {lack}; {'commit a copy' if lack == OUTSIDE else commit}"
