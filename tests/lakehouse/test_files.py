"""Files that are written as a whole."""

from pathlib import Path

import pytest

from lakehouse.files import create_secret, replace_file


@pytest.mark.parametrize("content", ["new ✓", b"\x00\xff"])
def test_a_file_is_replaced_in_a_folder_that_is_made(tmp_path: Path, content: str | bytes) -> None:
    file = tmp_path / "folder" / "state.json"
    replace_file(file, "old")
    replace_file(file, content, durable=False, mode=0o600)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(file.parent.iterdir()) == [file]


def test_a_write_that_fails_keeps_the_old_content(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    replace_file(file, "old")
    with pytest.raises(UnicodeEncodeError):
        replace_file(file, "\ud800")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_the_first_secret_stays_and_its_owner_alone_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "key"
    create_secret(file, "first")
    create_secret(file, "second")
    assert file.read_text() == "first"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]
