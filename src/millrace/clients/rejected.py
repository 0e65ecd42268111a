"""Stores lines that did not become records, with their numbers."""

import json
from pathlib import Path
from typing import Protocol, TextIO

_SHOWN = 5


class LineReject(Protocol):
    """An object that accepts lines that did not become records."""

    def add(self, line: int, reason: str, content: bytes) -> None:
        """Store a line: its number from 1, the reason, and its bytes."""


class Rejected:
    r"""Writes lines to `<home>/rejected/<manifest id>.jsonl`, which is created with the first one.

    Each line is a JSON object: `line` (number from 1), `reason`, and `content` (bytes that are not
    UTF-8 as \xhh).
    """

    def __init__(self, home: Path, manifest_id: str) -> None:
        self.path = home / "rejected" / f"{manifest_id}.jsonl"
        self.count = 0
        self.first_reason = ""
        self._first: list[int] = []
        self._file: TextIO | None = None

    def add(self, line: int, reason: str, content: bytes) -> None:
        """Store a line."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("w", encoding="utf-8")
        self.count += 1
        self.first_reason = self.first_reason or reason
        if len(self._first) < _SHOWN:
            self._first.append(line)
        kept = {"line": line, "reason": reason, "content": content.decode(errors="backslashreplace")}
        self._file.write(json.dumps(kept, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()

    def summary(self) -> str:
        """The numbers of the lines, e.g. `lines 3, 17, 18 and 4 more`; empty if there are none."""
        if not self.count:
            return ""
        numbers = ", ".join(map(str, self._first))
        more = self.count - len(self._first)
        return f"line{'s' if self.count > 1 else ''} {numbers}" + (f" and {more:,} more" if more else "")
