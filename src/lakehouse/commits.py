"""What commits to a table say of themselves, the latest first."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

_RECENT = 100  # asked of a catalog's table before all are
_COMMIT = re.compile(r"\d{20}\.json")

Commit = tuple[int, Mapping[str, Any]]
"""Version, and what the commit says; empty if it says nothing."""


def read_commits(spark: SparkSession, name: str, folder: Path | None) -> Iterator[Commit]:
    """The commits to a table.

    Args:
        spark: a session.
        name: the table.
        folder: where it is, if that can be read here: a look at some files takes no job of Spark.
    """
    return _read(folder / "_delta_log") if folder else _ask(spark, name)


def _read(log: Path) -> Iterator[Commit]:
    for name in sorted((file.name for file in log.iterdir() if _COMMIT.fullmatch(file.name)), reverse=True):
        with (log / name).open(encoding="utf-8") as lines:
            told = next((line for line in lines if line.startswith('{"commitInfo"')), "{}")
        yield int(name[:20]), _parse(json.loads(told).get("commitInfo", {}).get("userMetadata"))


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
