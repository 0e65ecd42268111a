"""Tables as they stood before rows that nobody is to see yet: their commits tell which versions those are."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame

from lakehouse.instants import to_micros
from lakehouse.tables import Lakehouse

_FEW = 20  # commits looked at before all are
Commit = tuple[int, Mapping[str, Any]]


class Standing:
    """Tables without what was written for rows after an ingest stamp, whatever is written meanwhile.

    To be what a job reads: `lake.standing = Standing(lake, …)`.

    Args:
        lake: the tables.
        upto: ingest stamp.
        filled_by: by table, the job that goes first in filling it; what others write is never ahead of that.
    """

    def __init__(self, lake: Lakehouse, upto: datetime, filled_by: Mapping[str, str]) -> None:
        self._lake = lake
        self._upto = upto
        self._filled_by = filled_by
        self._frames: dict[str, DataFrame] = {}

    def __call__(self, name: str) -> DataFrame | None:
        """The table, the same at each call; None if it is none of those to be held back."""
        if name in self._filled_by and name not in self._frames:
            reader = self._lake.spark.read.option("versionAsOf", self._version(name))
            self._frames[name] = reader.table(name)
        return self._frames.get(name)

    def _version(self, name: str) -> int:
        table = DeltaTable.forName(self._lake.spark, name)
        for history in (table.history(_FEW), table.history()):
            rows = history.select("version", "userMetadata").collect()
            commits = {row.version: json.loads(row.userMetadata or "{}") for row in rows}
            version, is_sure = version_upto(
                sorted(commits.items(), reverse=True), to_micros(self._upto), self._filled_by[name]
            )
            if is_sure or len(rows) < _FEW:
                break
        return version


def version_upto(commits: Sequence[Commit], upto: int, filled_by: str) -> tuple[int, bool]:
    """The latest version that no commit for later rows has a part in.

    Args:
        commits: version, and what the commit says of itself; the latest first.
        upto: ingest stamp, in microseconds.
        filled_by: the job that goes first.

    Returns:
        The version, and whether these commits are enough to tell.
    """
    version = commits[0][0]
    for number, told in commits:
        stamp = told.get("upto")
        if stamp is not None and stamp > upto:
            version = number - 1
        elif stamp is not None and told["job"] == filled_by:
            return version, True
    return version, False
