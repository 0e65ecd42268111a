"""The key of masked values, a secret of the home."""

import os
import secrets
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from lakehouse.errors import MillraceError

_BYTES = 32


class MaskKey:
    """The key in `serving/mask.key` of a home, made at first use, readable by its owner alone.

    With another key, the same values have other hashes.

    Args:
        home: the home.
    """

    def __init__(self, home: Path) -> None:
        self._file = home / "serving" / "mask.key"

    @cached_property
    def secret(self) -> bytes:
        """The key.

        Raises:
            MillraceError: if the file is no key.
        """
        if not self._file.exists():
            self._make()
        try:
            key = bytes.fromhex(self._file.read_text(encoding="ascii"))
        except ValueError:
            key = b""
        if len(key) != _BYTES:
            raise MillraceError(
                f"{self._file} is not {_BYTES} bytes in hexadecimal digits",
                "Restore it from a backup; or remove it, and masked values get other hashes",
            )
        return key

    def _make(self) -> None:
        """Write a whole file, then give it its name: of two processes that do, one key stays."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        draft = self._file.with_name(f"{self._file.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(secrets.token_hex(_BYTES))
            out.flush()
            os.fsync(out.fileno())
        with suppress(FileExistsError):
            os.link(draft, self._file)
        draft.unlink()
