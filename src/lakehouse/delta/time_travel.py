"""Versions of tables before rows that nobody is to see yet: their commits tell which those are."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime

from lakehouse.delta.commit_log import Commit
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.timestamps import to_micros


class Standing:
    """Tables without what was written for rows after an ingest stamp, whatever is written since.

    To be what a job reads: `lake.pinned = Standing(lake, …)`.

    Args:
        lake: the tables.
        upto: ingest stamp.
        filled_by: by table, the job that goes first in filling it; what others write is never ahead of that.
        heard: ingest stamp of what those jobs have heard of another one; None if they hear of none.
    """

    def __init__(
        self, lake: Lakehouse, upto: datetime, filled_by: Mapping[str, str], heard: datetime | None = None
    ) -> None:
        self._lake = lake
        self._upto = (to_micros(upto), math.inf if heard is None else to_micros(heard))
        self._filled_by = filled_by
        self._versions: dict[str, int] = {}

    def __call__(self, name: str) -> int | None:
        """The table's version, the same at each call; None if it is none of those to be held back."""
        if name in self._filled_by and name not in self._versions:
            commits = self._lake.commits(name)
            self._versions[name] = version_upto(commits, self._upto, self._filled_by[name])
        return self._versions.get(name)


def version_upto(commits: Iterable[Commit], upto: tuple[int, float], filled_by: str) -> int:
    """The latest version that no commit for later rows has a part in.

    Args:
        commits: version, and what the commit says of itself; the latest first. Only so many are read.
        upto: ingest stamps, in microseconds: of the rows, and of what was heard of another job.
        filled_by: the job that goes first.
    """
    version = None
    for number, told in commits:
        stamp = (told["upto"], told.get("heard", 0)) if "upto" in told else None
        if version is None or (stamp is not None and stamp > upto):
            version = number if stamp is None or stamp <= upto else number - 1
        if stamp is not None and stamp <= upto and told["job"] == filled_by:
            break
    return max(version or 0, 0)
