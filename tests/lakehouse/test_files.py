"""Atomic replacement of files, and creation of secrets."""

from pathlib import Path

import pytest

from lakehouse.files import create_secret, replace_file


@pytest.mark.parametrize("content", ["new ✓", b"\x00\xff"])
def test_replaced_file_has_mode_and_no_temporary_file_beside_it(tmp_path: Path, content: str | bytes) -> None:
    file = tmp_path / "folder" / "state.json"
    replace_file(file, "old")
    replace_file(file, content, durable=False, mode=0o600)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(file.parent.iterdir()) == [file]


def test_failed_write_keeps_previous_content(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    replace_file(file, "old")
    with pytest.raises(UnicodeEncodeError):
        replace_file(file, "\ud800")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_secret_is_created_once_and_readable_by_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "key"
    create_secret(file, "first")
    create_secret(file, "second")
    assert file.read_text() == "first"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]
