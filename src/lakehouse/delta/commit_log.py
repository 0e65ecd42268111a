"""Metadata of commits to a table, the latest first."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from lakehouse.delta.log_files import commit_file, latest_version, parse_metadata

_RECENT = 100  # commits of a catalog's table that are read before all are

_LATEST: dict[Path, int] = {}

Commit = tuple[int, Mapping[str, Any]]
"""Version and metadata of a commit; the metadata is empty if it has none."""


def read_commits(spark: SparkSession, name: str, folder: Path | None) -> Iterator[Commit]:
    """The commits to a table.

    Args:
        spark: a session.
        name: the table.
        folder: the table's folder; None for a table in a catalog, whose history Spark reads.
    """
    return _read(folder) if folder else _ask(spark, name)


def _read(folder: Path) -> Iterator[Commit]:
    """Commits in a folder. Finds the latest from the last known one: a log is too long to list each time."""
    version = _LATEST[folder] = latest_version(folder, _LATEST.get(folder, -1))
    while (file := commit_file(folder, version)).exists():
        with file.open(encoding="utf-8") as lines:
            metadata = next((line for line in lines if line.startswith('{"commitInfo"')), "{}")
        yield version, parse_metadata(json.loads(metadata).get("commitInfo", {}).get("userMetadata"))
        version -= 1


def _ask(spark: SparkSession, name: str) -> Iterator[Commit]:
    known = None
    for limit in (f" LIMIT {_RECENT}", ""):
        history = spark.sql(f"DESCRIBE HISTORY {name}{limit}").select("version", "userMetadata")
        for row in sorted(history.collect(), reverse=True):
            if known is None or row.version < known:
                known = row.version
                yield row.version, parse_metadata(row.userMetadata)
