"""Whether a stream's checkpoint still goes with the table it fills."""

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
        """The one of the ingest stream."""
        return cls(settings.home / "checkpoints" / "ingest")

    @property
    def query_id(self) -> str | None:
        """The id Spark gave the query that owns it; None if there is none, or it can't be read."""
        try:
            return str(json.loads((self.folder / "metadata").read_text().splitlines()[0])["id"])
        except (OSError, ValueError, KeyError, IndexError):
            return None

    @property
    def last_planned_batch(self) -> int:
        """The latest micro-batch whose offsets were written down; -1 if none."""
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
        """How many losses of records had been accepted when its query was started; see `topic_history`."""
        try:
            return int(self._recoveries_file.read_text())
        except (OSError, ValueError):
            return 0

    def note_recoveries(self, recoveries: int) -> None:
        """Write down, before its query is started, how many losses have been accepted."""
        if recoveries != self.recoveries:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self._recoveries_file.write_text(str(recoveries))

    @property
    def _recoveries_file(self) -> Path:
        """Beside the folder, in which Spark wants no file that is not its own."""
        return self.folder.with_name(f"{self.folder.name}.recoveries")

    def is_usable(self, commit: Mapping[str, object], recoveries: int) -> bool:
        """Whether a query may go on from it.

        Args:
            commit: what ingest wrote of its last commit to bronze; empty if it made none.
            recoveries: how many losses of records have been accepted.
        """
        fits = self.matches(commit.get("app"), commit.get("version"))
        return fits and self.recoveries == recoveries

    def matches(self, app: object, version: object) -> bool:
        """Whether going on from it neither repeats nor skips what the table already holds.

        Args:
            app: the query id in the table's last commit; None if it has no commit.
            version: the micro-batch in that commit.
        """
        if app is None:
            return True
        return self.query_id == app and self.last_planned_batch >= int(str(version))

    def quarantine(self) -> Path | None:
        """Move the folder out of the way, keeping it for a look; where it went, if there was one."""
        if not self.folder.exists():
            return None
        taken = sum(1 for _ in self.folder.parent.glob(f"{self.folder.name}.lost-*"))
        return self.folder.rename(self.folder.with_name(f"{self.folder.name}.lost-{taken + 1}"))
