"""Removes rows of ops.digests for deleted files, once the table has many rows."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.ops import DIGESTS
from lakehouse.settings import Settings
from millrace.audit.digests.files import data_files, digest_of, folder_of, live_files
from millrace.audit.digests.recorded import KEY_TYPES, Key, scan_digests
from millrace.audit.digests.sums import read_sums

MANY = 100_000
"""Number of rows up to which none are removed."""

_COMMIT = CommitProperties(custom_metadata={"userMetadata": '{"job": "digests"}'})


class Pruner:
    """Rewrites ops.digests when its number of rows has doubled.

    Args:
        settings: the settings in force; tables must be local.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._limit = MANY

    def prune(self, logged: Collection[Key]) -> int:
        """Keep the first digest of each file on disk. Returns the number of removed rows.

        Also keeps the rows of each table's last recorded commit, which show whether its log is complete. If
        a file of ops.digests has been altered, nothing is removed.

        Args:
            logged: keys of existing log files, manifests and pointers.
        """
        folder = folder_of(self._settings, DIGESTS.name)
        live = live_files(folder)
        rows: int = sum(pa.table(DeltaTable(folder).get_add_actions())["num_records"].to_pylist())
        if rows <= self._limit or not self._is_intact(folder, live):
            return 0
        kept = self._kept(pl.concat([scan_digests(folder / path) for path in live]), logged)
        self._limit = max(MANY, 2 * len(kept))
        if len(kept) < rows:
            write_deltalake(folder, kept, mode="overwrite", commit_properties=_COMMIT)
        return rows - len(kept)

    def _is_intact(self, folder: Path, live: Iterable[str]) -> bool:
        sums = read_sums(self._settings.warehouse)
        recorded = sums.files if sums else {}
        return all(path in recorded and recorded[path][2:4] == digest_of(folder / path) for path in live)

    def _kept(self, rows: pl.LazyFrame, logged: Collection[Key]) -> pa.Table:
        there = pl.LazyFrame([*logged, *self._stored()], schema=KEY_TYPES, orient="row")
        is_there = pl.col("is_there").fill_null(value=False)
        is_last = pl.col("version") == pl.col("version").max().over("table")
        first = rows.sort("recorded_at").unique(list(KEY_TYPES), keep="first", maintain_order=True)
        marked = first.join(
            there.with_columns(is_there=True), on=list(KEY_TYPES), how="left", nulls_equal=True
        )
        schema = arrow_schema(DIGESTS)
        kept = marked.filter(is_there | is_last).select(schema.names).collect()
        return kept.to_arrow().cast(schema)

    def _stored(self) -> Iterator[Key]:
        """Keys of all data files on disk, of any version."""
        for name in TABLES:
            if name != DIGESTS.name:
                yield from (Key(name, path) for path in data_files(folder_of(self._settings, name)))
