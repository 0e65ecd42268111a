"""A table of `WITHOUT_SPARK` as deltalake maintains it, since Spark must not commit to it."""

from collections.abc import Mapping
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from lakehouse.maintenance.file_sizes import MAX_FILE_BYTES, MIN_FILES, Compacted


class PythonTable:
    """An existing table in a folder; the interface of `SparkTable`.

    Args:
        folder: of the table.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def properties(self) -> Mapping[str, str]:
        """Delta properties."""
        found: Mapping[str, str] = DeltaTable(self._folder).metadata().configuration
        return found

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set Delta properties, in one commit."""
        DeltaTable(self._folder).alter.set_table_properties(dict(properties))

    def compact(self) -> Compacted:
        """Compact small files. Does nothing if another commit conflicts; appends do not."""
        table = DeltaTable(self._folder)
        before = len(table.file_uris())
        if before <= MIN_FILES:
            return Compacted(before, before)
        try:
            table.optimize.compact(target_size=MAX_FILE_BYTES)
        except CommitFailedError:
            return Compacted(before, before)
        return Compacted(before, len(table.file_uris()))

    def delete(self, condition: str) -> None:
        """Delete rows in one commit, if there are any."""
        DeltaTable(self._folder).delete(condition)

    def vacuum(self) -> None:
        """Remove files that no version within the table's retention refers to, and those without a commit."""
        DeltaTable(self._folder).vacuum(dry_run=False, full=True)
