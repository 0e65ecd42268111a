"""Reads digests from those files of ops.digests that match `digests.sums`."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from millrace.audit.digests.files import MANIFESTS, POINTER, FileDigest

KEY_TYPES: dict[str, Any] = {"table": pl.String, "path": pl.String, "key": pl.Int64}
_ROW: dict[str, Any] = {
    "table": pl.String,
    "path": pl.String,
    "size": pl.Int64,
    "sha256": pl.String,
    "version": pl.Int64,
    "recorded_at": pl.Int64,
}


class Key(NamedTuple):
    """Identifies a recorded file. Only `POINTER`, recorded once per checkpoint, has a `version`."""

    table: str
    path: str
    version: int | None = None


def key_of(digest: FileDigest) -> Key:
    """The key of a digest."""
    return Key(digest.table, digest.path, digest.version if digest.path == POINTER else None)


class RecordedDigests(NamedTuple):
    """Recorded digests of some files.

    Args:
        files: the first recorded digest of each file; later ones are ignored.
        last_versions: the last commit with a recorded file, by table.
    """

    files: dict[Key, FileDigest]
    last_versions: dict[str, int]


def scan_digests(part: Path) -> pl.LazyFrame:
    """Rows of a data file of ops.digests, with `Key.version` as column `key`."""
    key = pl.when(pl.col("path") == POINTER).then("version").alias("key")
    return pl.scan_parquet(part).select(*FileDigest._fields, "recorded_at", key)


def read_digests(parts: Iterable[Path], wanted: Collection[Key]) -> RecordedDigests:
    """Read digests of the wanted files, of all manifests and of all pointers.

    Args:
        parts: data files of ops.digests.
        wanted: keys of the wanted files.

    Raises:
        PolarsError: if a data file can't be read.
    """
    keys = pl.LazyFrame(list(wanted), schema=KEY_TYPES, orient="row")
    found, last = [pl.DataFrame(schema=_ROW)], dict[str, int]()
    for part in parts:
        rows = scan_digests(part).with_columns(pl.col("recorded_at").dt.epoch("us"))
        counted = rows.group_by("table").agg(pl.col("version").max()).collect()
        for table, version in counted.drop_nulls().rows():
            last[table] = max(last.get(table, 0), version)
        asked = rows.join(keys, on=list(KEY_TYPES), how="semi", nulls_equal=True)
        always = rows.filter((pl.col("table") == MANIFESTS) | (pl.col("path") == POINTER))
        found += [each.select(*_ROW).collect() for each in (asked, always)]
    first = pl.concat(found).sort("recorded_at", descending=True).drop("recorded_at")
    digests = (FileDigest(*row) for row in first.iter_rows())
    return RecordedDigests({key_of(digest): digest for digest in digests}, last)
