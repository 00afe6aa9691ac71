"""What is told where nothing can be proposed: classes and files by whose names there is a BERT in the project."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.code import Origin
from pytest_bertsize.commands.init.python.own_classes import A_PART
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.commands.init.python.reading import Reading

MOST = 4
"""Of each kind."""
NAMED_SO = re.compile(r"bert|electra|transformer|roformer|mpnet|xlnet", re.IGNORECASE)
_FILE = re.compile(
    r"[\w./-]*(bert|electra|xlnet|roformer)[\w./-]*config[\w-]*\.json|[\w./-]*_L-\d+_H-\d+[\w./-]*", re.IGNORECASE
)
_OPTION = re.compile(
    r"(\w+_)?(bert|model)_?(\w+_)?(model|name|path|dir|config|file|type)(_or_path|_file|_dir)?", re.IGNORECASE
)


def signs(reading: Reading, *, of_last: bool = False) -> list[str]:
    """Lines with a place each, the likeliest first.

    :param of_last: of tests, examples and the like, in place of the others.
    """
    modules = [each for each in reading.code.modules.values() if each.comes_last == of_last]
    found: list[list[str]] = [[], [], []]
    for module in modules:
        for name, node in module.classes.items():
            if NAMED_SO.search(name) and not A_PART.search(name) and reading.code.kind(Origin(module, name)):
                what = f"{module.file}:{node.lineno} defines {name}, and no call that makes it can be followed"
                found[0].append(f"{what}: declare it by a factory")
        found[1] += _files(module.file, module.source.tree)
        for option, said in module.source.of_options.items():
            if _OPTION.fullmatch(option) and isinstance(said.node, ast.Constant) and said.node.value is None:
                what = f"{module.file}:{said.line} has the option {option}, which has no default"
                found[2].append(f'{what}: declare what it is given, as in config = "org/name", or by its config.json')
    return [printable(line, 400) for lines in found for line in lines[:MOST]]


def _files(file: str, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _FILE.fullmatch(node.value):
            yield f"{file}:{node.lineno} names {node.value}: commit the config that is meant, and name it as config"
