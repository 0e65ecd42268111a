"""Cursors over tables and queries of a home, and their changes as JSON lines."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lakehouse.access.mask_key import MaskKey
from lakehouse.access.policy import ADMIN
from lakehouse.access.role import Role
from lakehouse.readers.folder_tables import FolderTables
from serving.admission import admit
from serving.causes.causes import Causes
from serving.sources.cursor import Cursor
from serving.sources.query_source import QuerySource
from serving.sources.table_source import TableSource, view_of


def table_source(home: Path, name: str, causes: Causes | None = None) -> TableSource:
    """A table of a home without masks or row filters."""
    return TableSource(
        FolderTables(home / "warehouse"), view_of(Role(ADMIN, MaskKey(home)), name), causes=causes
    )


def table_cursor(home: Path, name: str, version: int | None = None, table_id: str = "") -> Cursor:
    """A cursor over a table, after a version or with a snapshot."""
    return Cursor(table_source(home, name), None if version is None else {name: version}, {name: table_id})


def query_cursor(home: Path, sql: str, versions: Mapping[str, int] | None = None) -> Cursor:
    """A cursor over a standing query, after its result at some versions or with a snapshot."""
    return Cursor(QuerySource(FolderTables(home / "warehouse"), admit(sql)), versions)


def changes_of(cursor: Cursor) -> list[Any]:
    """Changes since the last poll of a cursor, decoded from JSON."""
    lines = [json.loads(line) for group in cursor.poll() for line in group.lines()]
    return [line for line in lines if "position" not in line]
