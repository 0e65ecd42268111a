"""Secret keys of the home."""

import os
import secrets
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from lakehouse.errors import MillraceError
from lakehouse.files import create_secret
from lakehouse.workspace_secrets import read_secret

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
        next_step = f"Restore it from a backup; or remove it, and {self.loss}"
        return _key(self._file.read_text(encoding="ascii", errors="replace"), str(self._file), next_step)


class MaskKey(HomeKey):
    """The key of masked values. With another key, the same values have other hashes.

    On a workspace it may be a secret, whose scope `MILLRACE_KEY_SECRET_SCOPE` names: an app has no disk that
    stays.
    """

    name, loss = "mask.key", "masked values get other hashes"

    @cached_property
    def secret(self) -> bytes:
        """The key.

        Raises:
            MillraceError: if the file or secret can't be read, or does not hold a key.
        """
        scope = os.environ.get("MILLRACE_KEY_SECRET_SCOPE")
        if not scope:
            return super().secret
        next_step = f"Put one there: databricks secrets put-secret {scope} {self.name}; see docs/deploy.md"
        return _key(read_secret(scope, self.name, next_step), f"{self.name} of {scope}", next_step)


class SessionKey(HomeKey):
    """The key that signs cookies of browsers."""

    name, loss = "session.key", "browsers need a token again"


def _key(text: str, what: str, next_step: str) -> bytes:
    """A key from its hexadecimal digits."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise MillraceError(f"{what} is not {_BYTES} bytes in hexadecimal digits", next_step)
    return key
