"""The file of `millrace watch --resume`: how far a reader of changes is."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from lakehouse.delta.log_files import commit_file
from lakehouse.errors import MillraceError

_NEXT_STEP = "Remove the file to begin with a snapshot"


class PositionFile:
    """Keeps the versions of tables whose changes have been written.

    It also has a digest of the log's entry of each version, which shows a table that was made again.

    Args:
        path: of the file.
        warehouse: folder of the tables.
        watched: the table or the query; a file of another one is refused.
    """

    def __init__(self, path: Path, warehouse: Path, watched: str) -> None:
        self._path = path
        self._warehouse = warehouse
        self._watched = watched

    def load(self) -> dict[str, int] | None:
        """Versions by table; None if there is no file yet.

        Raises:
            MillraceError: if the file is no position of this table or query, or a table was made again.
        """
        if not self._path.exists():
            return None
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            watched, digests = content["watched"], content["commits"]
            position = {str(name): int(version) for name, version in content["position"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise MillraceError(f"{self._path} is not a position of `millrace watch`", _NEXT_STEP) from error
        if watched != self._watched:
            raise MillraceError(f"{self._path} is the position of another watch: {watched}", _NEXT_STEP)
        for name, version in position.items():
            now = self._digest(name, version)
            if now is not None and now != digests.get(name):
                raise MillraceError(f"{name} was made again since {self._path} was written", _NEXT_STEP)
        return position

    def save(self, position: Mapping[str, int]) -> None:
        """Replace the file: a reader finds the old one or the new one, also after a crash."""
        commits = {name: self._digest(name, version) for name, version in position.items()}
        content = {"watched": self._watched, "position": dict(position), "commits": commits}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_name(f"{self._path.name}.draft")
        with draft.open("w", encoding="utf-8") as file:
            file.write(json.dumps(content) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)

    def _digest(self, name: str, version: int) -> str | None:
        """A digest of a commit's log entry; None if log retention has removed it."""
        file = commit_file(self._warehouse.joinpath(*name.split(".")), version)
        return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else None
