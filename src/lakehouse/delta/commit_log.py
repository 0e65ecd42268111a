"""Metadata of commits to a table, the latest first."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from lakehouse.delta.log_files import commit_file, latest_version

_RECENT = 100  # asked of a catalog's table before all are

_LATEST: dict[Path, int] = {}

Commit = tuple[int, Mapping[str, Any]]
"""Version, and what the commit says; empty if it says nothing."""


def read_commits(spark: SparkSession, name: str, folder: Path | None) -> Iterator[Commit]:
    """The commits to a table.

    Args:
        spark: a session.
        name: the table.
        folder: where it is, if that can be read here: a look at some files takes no job of Spark.
    """
    return _read(folder) if folder else _ask(spark, name)


def _read(folder: Path) -> Iterator[Commit]:
    """Commits from the last known version on: a log has too many files to list it each time."""
    version = _LATEST[folder] = latest_version(folder, _LATEST.get(folder, -1))
    while (file := commit_file(folder, version)).exists():
        with file.open(encoding="utf-8") as lines:
            metadata = next((line for line in lines if line.startswith('{"commitInfo"')), "{}")
        yield version, _parse(json.loads(metadata).get("commitInfo", {}).get("userMetadata"))
        version -= 1


def _ask(spark: SparkSession, name: str) -> Iterator[Commit]:
    table, known = DeltaTable.forName(spark, name), None
    for history in (table.history(_RECENT), table.history()):
        for row in sorted(history.select("version", "userMetadata").collect(), reverse=True):
            if known is None or row.version < known:
                known = row.version
                yield row.version, _parse(row.userMetadata)


def _parse(metadata: str | None) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(metadata or "{}")
    return found
