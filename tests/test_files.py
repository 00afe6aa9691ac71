"""A file is found inside the project, and opened if it is one; it is replaced at once, and no writer leaves half of one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from pytest_bertsize.files import NotRegular, open_regular, replace_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "size.json"
    found.write_bytes(b"before")
    return found


# found and opened


def test_what_is_no_regular_file_is_not_opened(path: Path) -> None:
    with open_regular(path) as stream:
        assert stream.read() == b"before"
    with pytest.raises(NotRegular):
        open_regular(Path(os.devnull))
    with pytest.raises(IsADirectoryError):
        open_regular(path.parent)


# replaced


def test_the_owner_is_given_before_the_mode_and_not_to_a_new_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the owner may take bits of the mode away."""
    given: list[tuple[int, int]] = []

    def note(temporary: str, user: int, group: int) -> None:
        os.chmod(temporary, 0)  # noqa: PTH101
        given.append((user, group))

    monkeypatch.setattr("os.chown", note)
    replace_file(path.with_name("new"), b"new")
    assert given == []
    path.chmod(0o640)
    of_another = os.stat_result([*path.stat()[:4], 12, 34, *path.stat()[6:]])
    monkeypatch.setattr(Path, "stat", lambda *_, **__: of_another)
    replace_file(path, b"after")
    assert given == [(12, 34)]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640  # noqa: PTH116  (the one above is replaced)


@pytest.mark.parametrize("step", ["os.fsync", "os.fdopen", "pathlib.Path.chmod", "pathlib.Path.replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()], ids=["full", "broken off"])
def test_a_step_that_fails_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(step, fail)
        with pytest.raises(type(error)):
            replace_file(path, b"after")
    assert [*path.parent.iterdir()] == [path]
    assert path.read_bytes() == b"before"
