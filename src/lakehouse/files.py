"""Files that are written as a whole: a reader finds the old content or the new one, never half of it."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, content: str | bytes, *, durable: bool = True, mode: int = 0o666) -> None:
    """Write a file in place of the one that is there; makes its folder.

    Args:
        path: of the file.
        content: text or bytes.
        durable: whether it is on the disk before it gets its name, so that this holds after a crash too.
        mode: at most these permissions.
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
    """Create a file that its owner alone may read; of two processes that do, the first one's stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    write_private(draft, content.encode())
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that its owner alone may read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
