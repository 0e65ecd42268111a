"""An append-only log of JSON lines, each with a keyed hash over it and the line before."""

import hmac
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from lakehouse.errors import MillraceError
from lakehouse.files import replace_file
from privacy.canonical import canonical, parse_canonical

Entry = Mapping[str, Any]

START = "0" * 64
"""What stands for the hash of the line before the first one."""

_HASH, _PREVIOUS = "hash", "previous"


class ChainedLog:
    """A log; without its key no line can be changed, removed from within, or added.

    Args:
        file: of the log, readable only by its owner.
        key: returns the key; it is asked only if there are lines, or one is added.
    """

    def __init__(self, file: Path, key: Callable[[], bytes]) -> None:
        self._file = file
        self._key = key

    def entries(self) -> list[Entry]:
        """All entries, the oldest first.

        Raises:
            MillraceError: if the file was changed.
        """
        return list(self._verified(self._content()))

    @contextmanager
    def appending(self) -> Iterator[Callable[[Entry], Entry]]:
        """A function that appends an entry; in the block nobody else does.

        Raises:
            MillraceError: if the file was changed.
        """
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._file.with_suffix(".lock")):
            yield self._append

    def _append(self, entry: Entry) -> Entry:
        content = self._content()
        entries = list(self._verified(content))
        body = {**entry, _PREVIOUS: entries[-1][_HASH] if entries else START}
        full = {**body, _HASH: self._hash(body)}
        replace_file(self._file, content + canonical(full) + b"\n", mode=0o600)
        return full

    def _content(self) -> bytes:
        return self._file.read_bytes() if self._file.exists() else b""

    def _verified(self, content: bytes) -> Iterator[Entry]:
        previous = START
        *lines, rest = content.split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                entry = parse_canonical(line)
            except ValueError:
                raise self._changed(number) from None
            given = str(entry.get(_HASH))
            body = {name: value for name, value in entry.items() if name != _HASH}
            if body.get(_PREVIOUS) != previous or not hmac.compare_digest(given, self._hash(body)):
                raise self._changed(number)
            previous = given
            yield entry
        if rest:
            raise self._changed(len(lines) + 1)

    def _hash(self, body: Entry) -> str:
        return hmac.digest(self._key(), canonical(body), "sha256").hex()

    def _changed(self, number: int) -> MillraceError:
        return MillraceError(
            f"{self._file}, line {number}, is not as it was written",
            "Restore the file and the key beside it from a backup",
        )
