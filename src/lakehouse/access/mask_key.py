"""The key of masked values, a secret of the home."""

import secrets
from functools import cached_property
from pathlib import Path

from lakehouse.errors import MillraceError
from lakehouse.files import create_secret

_BYTES = 32


class MaskKey:
    """The key in `serving/mask.key` of a home, created on first use, readable only by its owner.

    With another key, the same values have other hashes.

    Args:
        home: the folder of all local state.
    """

    def __init__(self, home: Path) -> None:
        self._file = home / "serving" / "mask.key"

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
                "Restore it from a backup; or remove it, and masked values get other hashes",
            )
        return key
