"""Checks whether a stream's checkpoint matches its table."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lakehouse.settings import Settings


@dataclass(frozen=True)
class Checkpoint:
    """A Structured Streaming checkpoint folder."""

    folder: Path

    @classmethod
    def of_ingest(cls, settings: Settings) -> "Checkpoint":
        """The checkpoint of the ingest stream."""
        return cls(settings.home / "checkpoints" / "ingest")

    @property
    def query_id(self) -> str | None:
        """Id of the streaming query that owns it; None if it is missing or unreadable."""
        try:
            return str(json.loads((self.folder / "metadata").read_text().splitlines()[0])["id"])
        except (OSError, ValueError, KeyError, IndexError):
            return None

    @property
    def last_planned_batch(self) -> int:
        """The latest micro-batch with planned offsets; -1 if there is none."""
        planned = (name.name for name in self.folder.glob("offsets/*"))
        return max((int(name) for name in planned if name.isdigit()), default=-1)

    @property
    def reached(self) -> dict[str, dict[str, int]]:
        """By topic and partition: the offset after the last that a finished micro-batch has read."""
        finished = max(
            (int(name.name) for name in self.folder.glob("commits/*") if name.name.isdigit()), default=-1
        )
        try:
            planned = (self.folder / "offsets" / str(finished)).read_text().splitlines()
            return dict(json.loads(planned[-1]))
        except (OSError, ValueError, IndexError):
            return {}

    @property
    def recoveries(self) -> int:
        """Number of losses that were accepted before its query started; see `topic_history`."""
        try:
            return int(self._recoveries_file.read_text())
        except (OSError, ValueError):
            return 0

    def note_recoveries(self, recoveries: int) -> None:
        """Record the number of accepted losses, before the query is started."""
        if recoveries != self.recoveries:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self._recoveries_file.write_text(str(recoveries))

    @property
    def _recoveries_file(self) -> Path:
        """A file next to the folder: Spark allows no other files in the folder."""
        return self.folder.with_name(f"{self.folder.name}.recoveries")

    def is_usable(self, commit: Mapping[str, object], recoveries: int, is_empty: bool = False) -> bool:
        """Whether a query can resume from it.

        Args:
            commit: metadata of ingest's last commit to bronze; empty if bronze's log has none, or none any
                more: Delta removes old log entries.
            recoveries: number of losses of records that have been accepted.
            is_empty: whether bronze is known to have no rows. Then it needs no commit.
        """
        app = commit.get("app")
        fits = is_empty if app is None else self.matches(app, commit.get("version"))
        return fits and self.recoveries == recoveries

    def matches(self, app: object, version: object) -> bool:
        """Whether resuming from it neither repeats nor skips records of the table.

        Args:
            app: the query id in the table's last commit.
            version: the micro-batch in that commit.
        """
        return self.query_id == app and self.last_planned_batch >= int(str(version))

    def quarantine(self) -> Path | None:
        """Move the folder aside for inspection; return the new path, or None if there was no folder."""
        if not self.folder.exists():
            return None
        names = (folder.name for folder in self.folder.parent.glob(f"{self.folder.name}.lost-*"))
        numbers = [int(number) for name in names if (number := name.rpartition("-")[2]).isdecimal()]
        last = max(numbers, default=0)
        return self.folder.rename(self.folder.with_name(f"{self.folder.name}.lost-{last + 1}"))
