"""Time travel by ingest stamp: the version of a table that contains the input up to a stamp."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import takewhile

from lakehouse.delta.commit_log import Commit
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.timestamps import to_micros


class PinnedTables:
    """Pins tables to the last version before any row after an ingest stamp was written.

    Used as `lake.pinned = PinnedTables(lake, …)`.

    Args:
        lake: the tables.
        upto: ingest stamp.
        first_writer: by table, the first job that writes rows of a stamp to it. Others are never ahead of it.
        side_input: high-water mark of the side input of those jobs; None if they have none.
    """

    def __init__(
        self,
        lake: Lakehouse,
        upto: datetime,
        first_writer: Mapping[str, str],
        side_input: datetime | None = None,
    ) -> None:
        self._lake = lake
        self._upto = (to_micros(upto), math.inf if side_input is None else to_micros(side_input))
        self._filled_by = first_writer
        self._versions: dict[str, int] = {}

    def __call__(self, name: str) -> int | None:
        """The table's version, the same at each call; None for tables that are not pinned."""
        if name in self._filled_by and name not in self._versions:
            commits = self._lake.commits(name)
            self._versions[name] = last_version_through(commits, self._upto, self._filled_by[name])
        return self._versions.get(name)

    def hides(self, name: str, job: str, after: datetime) -> bool:
        """Whether the log of a table has a commit of a job, for later input, behind the pinned version.

        Args:
            name: the table; it is pinned.
            job: the job.
            after: ingest stamp.
        """
        version = self(name)
        later = takewhile(lambda commit: commit[0] > (version or 0), self._lake.commits(name))
        return any(each.get("job") == job and each.get("upto", 0) > to_micros(after) for _, each in later)


def last_version_through(commits: Iterable[Commit], upto: tuple[int, float], first_writer: str) -> int:
    """The latest version that contains no commit of later rows.

    Args:
        commits: version and metadata of each commit, the latest first. Read only as far as needed.
        upto: high-water marks in microseconds: of the rows, and of the side input.
        first_writer: the first job that writes rows of a stamp to the table.
    """
    version = None
    for number, metadata in commits:
        stamp = (metadata["upto"], metadata.get("heard", 0)) if "upto" in metadata else None
        if version is None or (stamp is not None and stamp > upto):
            version = number if stamp is None or stamp <= upto else number - 1
        if stamp is not None and stamp <= upto and metadata["job"] == first_writer:
            break
    return max(version or 0, 0)
