"""The id of a table in a folder, by which a reader of changes recognises it."""

from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError


def table_id(folder: Path) -> str:
    """The id that Delta gave a table when it was created; empty if there is no table.

    It stays the same when rows are replaced, for example by a rebuild. A table that is created again in the
    same folder has another id.
    """
    try:
        return str(DeltaTable(folder).metadata().id)
    except (DeltaError, FileNotFoundError):
        return ""
