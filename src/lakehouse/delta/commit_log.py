"""Metadata of commits to a table, the latest first."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

_RECENT = 100  # asked of a catalog's table before all are
_COMMIT = re.compile(r"\d{20}\.json")

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


def commit_file(folder: Path, version: int) -> Path:
    """Path of a commit in a table's log."""
    return folder / "_delta_log" / f"{version:020}.json"


def _read(folder: Path) -> Iterator[Commit]:
    """Commits from the last known version on: a log has too many files to list it each time."""
    version = _LATEST.get(folder, -1)
    if not commit_file(folder, version).exists():
        names = (file.name for file in (folder / "_delta_log").iterdir())
        version = max((int(name[:20]) for name in names if _COMMIT.fullmatch(name)), default=-1)
    while commit_file(folder, version + 1).exists():
        version += 1
    _LATEST[folder] = version
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
