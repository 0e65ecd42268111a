"""Creation of secrets on file systems without hard links."""

import errno
import os
from pathlib import Path

import pytest

from lakehouse.files import create_secret


def refuse_links(monkeypatch: pytest.MonkeyPatch, error: int, *, earlier: str | None = None) -> None:
    """Let each link fail, after another process has created the file if `earlier` is its content."""

    def link(source: Path, target: Path) -> None:
        if earlier is not None:
            target.write_text(earlier)
        raise OSError(error, os.strerror(error), source)

    monkeypatch.setattr(os, "link", link)


@pytest.mark.parametrize("error", [errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP])
def test_secret_is_created_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    file = tmp_path / "key"
    refuse_links(monkeypatch, error)
    create_secret(file, "secret")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("secret", 0o600)
    assert list(tmp_path.iterdir()) == [file]


def test_secret_of_another_process_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    refuse_links(monkeypatch, errno.ENOSYS, earlier="first")
    create_secret(file, "second")
    assert file.read_text() == "first"
    assert list(tmp_path.iterdir()) == [file]


def test_other_errors_are_raised_and_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_links(monkeypatch, errno.EIO)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        create_secret(tmp_path / "key", "secret")
    assert list(tmp_path.iterdir()) == []


def test_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        create_secret(tmp_path / "key", "secret")
    assert list(tmp_path.iterdir()) == []
