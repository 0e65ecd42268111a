"""Secret keys of the home."""

import secrets
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from lakehouse.errors import MillraceError
from lakehouse.files import create_secret

_BYTES = 32


class HomeKey:
    """A key in a folder of a home, created on first use, readable only by its owner.

    Args:
        home: the folder of all local state.
    """

    folder: ClassVar[str] = "serving"
    """Folder of the file in the home."""
    name: ClassVar[str]
    """Name of the file."""
    loss: ClassVar[str]
    """What happens without the file."""

    def __init__(self, home: Path) -> None:
        self._file = home / self.folder / self.name

    @property
    def is_there(self) -> bool:
        """Whether it was created."""
        return self._file.exists()

    @cached_property
    def secret(self) -> bytes:
        """The key.

        Raises:
            MillraceError: if the file does not hold a key.
        """
        if not self._file.exists():
            create_secret(self._file, secrets.token_hex(_BYTES))
        try:
            key = bytes.fromhex(self._file.read_text(encoding="ascii"))
        except ValueError:
            key = b""
        if len(key) != _BYTES:
            raise MillraceError(
                f"{self._file} is not {_BYTES} bytes in hexadecimal digits",
                f"Restore it from a backup; or remove it, and {self.loss}",
            )
        return key


class MaskKey(HomeKey):
    """The key of masked values. With another key, the same values have other hashes."""

    name, loss = "mask.key", "masked values get other hashes"


class SessionKey(HomeKey):
    """The key that signs cookies of browsers."""

    name, loss = "session.key", "browsers need a token again"
