"""Connections to the collector's log that fail as on a broken disk."""

import sqlite3
from pathlib import Path
from typing import Any

from intake.log.schema import open_log


class BreakableConnection:
    """A connection whose statements fail while it is broken.

    Args:
        file: the log.
        is_broken: whether it is broken from the start.
    """

    def __init__(self, file: Path, *, is_broken: bool = False) -> None:
        self._connection = open_log(file)
        self.is_broken = is_broken

    def __getattr__(self, name: str) -> Any:
        if self.is_broken and name.startswith("execute"):
            raise sqlite3.OperationalError("disk I/O error")
        return getattr(self._connection, name)
