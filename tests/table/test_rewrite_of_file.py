"""A pyproject.toml is replaced whole, or it is as it was."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pytest_bertsize.table.rewrite import Change, raised, replace_pyproject, replace_together
from pytest_bertsize.table.settings import SettingsError

BEFORE, AFTER = "total = 1  # größe\n", "total = 2  # größe\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "pyproject.toml"
    found.write_bytes(BEFORE.encode())
    return found


def refused(path: Path, before: str | None = BEFORE) -> str:
    """Return what is said of a file that is left alone, beside which nothing is left."""
    names = sorted(path.parent.iterdir())
    with pytest.raises(SettingsError) as error:
        replace_pyproject(path, before, AFTER)
    assert sorted(path.parent.iterdir()) == names
    return str(error.value).replace(str(path), "FILE")


def only(path: Path) -> bytes:
    assert [*path.parent.iterdir()] == [path]
    return path.read_bytes()


@pytest.mark.parametrize("mode", [0o600, 0o755], ids=oct)
def test_a_file_is_replaced_with_its_rights_and_nothing_else_is_left_in_its_folder(path: Path, mode: int) -> None:
    path.chmod(mode)
    replace_pyproject(path, BEFORE, AFTER)
    assert only(path) == AFTER.encode()
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_is_made_where_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    replace_pyproject(path, None, AFTER)
    assert only(path) == AFTER.encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_file_that_is_another_one_meanwhile_or_read_only_is_left_alone(path: Path) -> None:
    assert refused(path, before=None) == "FILE did not exist when this run began, and was not changed: run this again"
    for now in (BEFORE + "x = 1\n", BEFORE.replace("\n", "\r\n"), "", "\ufeff" + BEFORE):
        path.write_bytes(now.encode())
        assert refused(path) == "FILE has changed since it was read, and was not changed: run this again"
        assert path.read_bytes() == now.encode()
    path.write_bytes(BEFORE.encode())
    path.chmod(0o444)
    assert refused(path) == "FILE is read-only and was not changed: make it writable, and run this again"
    assert path.read_bytes() == BEFORE.encode()


@pytest.mark.parametrize("before", [BEFORE, None], ids=["to-a-file", "to-nowhere"])
def test_a_symlink_is_left_alone_and_so_is_what_it_leads_to(tmp_path: Path, before: str | None) -> None:
    folder, target = tmp_path / "project", tmp_path / "shared.toml"
    folder.mkdir()
    if before is not None:
        target.write_bytes(before.encode())
    path = folder / "pyproject.toml"
    path.symlink_to(target)
    assert refused(path, before) == "FILE is a symlink and was not changed: run this where the file itself is"
    assert path.readlink() == target
    assert (target.read_bytes() if target.exists() else None) == (None if before is None else before.encode())


@pytest.mark.parametrize("there", [True, False])
def test_of_several_files_all_are_replaced_or_none(path: Path, *, there: bool) -> None:
    other = path.with_name("other.lock")
    if there:
        other.write_text("old")
    before = path.read_text()
    with pytest.raises(SettingsError, match="has changed since it was read"):
        replace_together((other, "old" if there else None, "new"), (path, f"{before}#", "x"))
    assert (other.read_text() if other.exists() else None, path.read_text()) == ("old" if there else None, before)
    replace_together((other, "old" if there else None, "new"), (path, before, "x"))
    assert (other.read_text(), path.read_text()) == ("new", "x")


def test_of_models_that_share_a_table_all_pass_the_bound_that_is_written() -> None:
    for bound, chosen in (("max", "9"), ("exact", "9"), ("min", "7")):
        changes = [
            Change(name, ("m", "total"), "total", bound, 7, size) for name, size in zip("abc", "897", strict=True)
        ]
        assert [each.after for each in raised(changes)] == [chosen]
