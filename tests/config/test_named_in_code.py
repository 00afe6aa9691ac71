"""Which place of a project's own Python reads a key of a config."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bertsize.config import named_in_code
from pytest_bertsize.config.named_in_code import where_named


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    "line",
    [
        "self.size = config.fusion_layer",
        "self.size = self.config.fusion_layer",
        "self.size = model_cfg.fusion_layer * 2",
        "self.size = args.fusion_layer",
        'self.size = config["fusion_layer"]',
        "self.size = config.get('fusion_layer', 0)",
        'self.size = getattr(config, "fusion_layer", 0)',
    ],
)
def test_a_key_is_read_as_an_attribute_of_a_config_or_by_its_name(tmp_path: Path, line: str) -> None:
    write(tmp_path, {"models/fusion.py": f"class Fusion:\n    def __init__(self, config):\n        {line}\n"})
    assert where_named(tmp_path, "fusion_layer") == "models/fusion.py:3"


@pytest.mark.parametrize(
    "line",
    [
        "self.fusion_layer = 3",
        "config.fusion_layers",
        "fusion_layer(config)",
        "# of the fusion_layer",
        "'fusion_layer2'",
    ],
)
def test_what_only_sounds_like_it_reads_nothing(tmp_path: Path, line: str) -> None:
    write(tmp_path, {"fusion.py": line})
    assert where_named(tmp_path, "fusion_layer") == ""


def test_other_peoples_code_is_none_of_the_projects(tmp_path: Path) -> None:
    for folder in ("site-packages", "node_modules", "__pycache__", "build", ".hidden", "env"):
        write(tmp_path, {f"{folder}/fusion.py": "config.fusion_layer"})
    (tmp_path / "env/pyvenv.cfg").touch()
    assert where_named(tmp_path, "fusion_layer") == ""


def test_the_file_that_is_nearest_to_the_root_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"a/c.py": "config.fusion_layer", "z.py": "\nconfig.fusion_layer", "a/b.py": "config.fusion_layer"})
    assert where_named(tmp_path, "fusion_layer") == "z.py:2"


def test_what_is_no_name_is_read_by_nobody(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "config['a.b']; config.fusion"})
    assert where_named(tmp_path, "a.b") == where_named(tmp_path, "*") == ""


def test_files_are_looked_into_as_far_as_they_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_in_code, "MOST_BYTES", 30)
    write(tmp_path, {"a.py": "x" * 20, "b.py": "config.fusion_layer"})
    assert where_named(tmp_path, "fusion_layer") == ""


def test_a_symlink_is_not_followed_to_what_may_have_no_end(tmp_path: Path) -> None:
    write(tmp_path, {"b.py": "x = config.fusion_layer\n"})
    (tmp_path / "a.py").symlink_to("/dev/zero")
    assert where_named(tmp_path, "fusion_layer") == "b.py:1"
