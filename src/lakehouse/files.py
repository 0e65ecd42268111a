"""Files that are written as a whole: a reader finds the old content or the new one, never half of it."""

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

_NO_LINKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL)
"""Errors of file systems without hard links."""


def replace_file(path: Path, content: str | bytes, *, durable: bool = True, mode: int = 0o666) -> None:
    """Replace a file, or create it and its folder.

    Args:
        path: of the file.
        content: text or bytes.
        durable: whether it is synced to disk before it is renamed, so that this holds after a crash too.
        mode: permissions of the file, less the umask.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def create_secret(path: Path, content: str) -> None:
    """Create a file that only its owner may read. If two processes do so, the first one's file stays.

    A file system without hard links, as a workspace's volume may be, gets the file in one write.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        write_private(draft, content.encode())
        with suppress(FileExistsError):
            _link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _link(draft: Path, path: Path) -> None:
    """Give a file a second name; write another one where there are no hard links."""
    try:
        os.link(draft, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        try:
            write_private(path, draft.read_bytes())
        except FileExistsError:
            raise
        except BaseException:
            path.unlink(missing_ok=True)  # a part of it
            raise


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that only its owner may read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
