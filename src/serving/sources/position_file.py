"""The file of `millrace watch --resume`: the position of a reader of changes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lakehouse.errors import MillraceError
from lakehouse.files import replace_file

_NEXT_STEP = "Remove the file to begin with a snapshot"


class Position(NamedTuple):
    """Versions of tables whose changes have been written, and the ids of these tables.

    Args:
        versions: versions by table.
        table_ids: ids by table, for which alone the versions are valid; empty for a missing table.
    """

    versions: dict[str, int]
    table_ids: dict[str, str]


class PositionFile:
    """Keeps the position of a reader.

    Args:
        path: path of the file.
        watched: the table or query; the file of another one is refused.
    """

    def __init__(self, path: Path, watched: str) -> None:
        self._path = path
        self._watched = watched

    def load(self) -> Position | None:
        """The position; None if there is no file yet.

        Raises:
            MillraceError: if the file is not a position of this table or query.
        """
        if not self._path.exists():
            return None
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            watched, table_ids = content["watched"], dict(content["table_ids"])
            versions = {str(name): int(version) for name, version in content["position"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise MillraceError(f"{self._path} is not a position of `millrace watch`", _NEXT_STEP) from error
        if watched != self._watched:
            raise MillraceError(f"{self._path} is the position of another watch: {watched}", _NEXT_STEP)
        return Position(versions, table_ids)

    def save(self, position: Mapping[str, int], table_ids: Mapping[str, str]) -> None:
        """Replace the file atomically, also in case of a crash."""
        content = {"watched": self._watched, "position": dict(position), "table_ids": dict(table_ids)}
        replace_file(self._path, json.dumps(content) + "\n")
