"""Time travel by ingest stamp: the version of a table that contains the input up to a stamp."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

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
        self._later: dict[str, list[Commit]] = {}

    def __call__(self, name: str) -> int | None:
        """The table's version, the same at each call; None for tables that are not pinned."""
        if name in self._filled_by and name not in self._versions:
            read: list[Commit] = []
            commits = _noted(self._lake.commits(name), read)
            version = last_version_through(commits, self._upto, self._filled_by[name])
            self._versions[name] = version
            self._later[name] = [commit for commit in read if commit[0] > version]
        return self._versions.get(name)

    def hides(self, name: str, job: str, after: datetime, upto: datetime) -> bool:
        """Whether a commit of a job, for stamps in (after, upto], is behind a pinned table's version."""
        self(name)
        stamps = (each.get("upto", 0) for _, each in self._later[name] if each.get("job") == job)
        return any(to_micros(after) < stamp <= to_micros(upto) for stamp in stamps)

    def hides_job(self, name: str, jobs: Collection[str]) -> bool:
        """Whether a commit of one of these jobs is behind a pinned table's version."""
        self(name)
        return any(each.get("job") in jobs for _, each in self._later[name])


def _noted(commits: Iterable[Commit], read: list[Commit]) -> Iterator[Commit]:
    """The commits, each added to `read` as it is read."""
    for commit in commits:
        read.append(commit)
        yield commit


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
