"""The input of a commit: ranges of ingest stamps, from the table's log and ops.ledger."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.contracts import TABLES
from lakehouse.delta.log_files import commit_file, latest_version, read_metadata
from serving.causes.table_rows import Range, TableRows

_LEDGER = "ops.ledger"
MINUTES = "gold.visitor_minutes"


class Marks(NamedTuple):
    """High-water marks of a commit, in microseconds.

    Args:
        job: that wrote it; None if the commit does not say.
        upto: ingest stamp that its input was done up to; None for rows that were not made by new input.
        side_input: the same of the side input, events that repair has processed; 0 if it has none.
        minutes: sequence of gold.visitor_minutes that it was done up to; 0 if it does not say.
        sequence: of a commit to gold.visitor_minutes; 0 of others.
    """

    job: str | None = None
    upto: int | None = None
    side_input: int = 0
    minutes: int = 0
    sequence: int = 0


class CommitInput(NamedTuple):
    """What a commit took in.

    Args:
        job: that wrote it.
        new: stamps of records that it was the first to process.
        repaired: stamps of late events and identities that repair had processed since.
        watermark: of the job after it, in microseconds; 0 if it has none.
        minutes: ranges of `sequence` of gold.visitor_minutes, first excluded, for tables made from it.
    """

    job: str
    new: list[Range]
    repaired: list[Range]
    watermark: int
    minutes: Range = (0, 0)

    @property
    def last(self) -> int:
        """The last stamp of the input."""
        return max((high for _, high in (*self.new, *self.repaired)), default=0)


class _Entry(NamedTuple):
    """A row of ops.ledger."""

    batch_id: int
    position: int
    side_input: int
    watermark: int


_NO_MARKS, _NO_ENTRY = Marks(), _Entry(-1, 0, 0, 0)


class CommitInputs:
    """Finds the inputs of commits.

    Args:
        rows: of the tables.
    """

    def __init__(self, rows: TableRows) -> None:
        self._rows = rows
        self._entries: dict[str, list[_Entry]] = {}
        self._marks: dict[tuple[str, int], Marks] = {}
        self._latest: dict[str, int] = {}

    def marks(self, table: str, version: int) -> Marks:
        """The marks of a commit; they never change."""
        if (table, version) not in self._marks:
            self._marks[table, version] = _marks(self._rows.folder(table), version)
        return self._marks[table, version]

    def is_known(self, marks: Marks) -> bool:
        """Whether the ledger has the batch of a commit; a job writes its row last, also after a crash."""
        return marks.job is None or marks.upto is None or bool(self._batches(marks.job, marks.upto))

    def find(self, table: str, version: int, marks: Marks) -> CommitInput:
        """The input of a commit that has a job and `upto`, and whose batch is known."""
        job, upto = str(marks.job), int(marks.upto or 0)
        before = next((each for _, each in self._earlier(table, version, job)), _NO_MARKS)
        if TABLES[table].cadence == "summary":
            return self._of_summary(job, (before.upto or 0, upto), (before.minutes, marks.minutes))
        entries = self._batches(job, upto)
        entry = next((each for each in entries if each.side_input >= marks.side_input), entries[-1])
        last = self._before(job, entry)
        new = max(last.position, before.upto or 0), upto
        repaired = max(last.side_input, before.side_input), marks.side_input
        return CommitInput(job, _kept([new]), _kept([repaired]), entry.watermark)

    def version_through(self, table: str, job: str, upto: int) -> int:
        """The version of a table with a job's input up to an ingest stamp; 0 if there is none."""
        commits = self._earlier(table, self._latest_version(table) + 1, job)
        return next((version for version, marks in commits if int(marks.upto or 0) <= upto), 0)

    def repaired_through(self, table: str, version: int) -> int:
        """Stamp of the last commit of repair to a table before a version."""
        return next((marks.upto or 0 for _, marks in self._earlier(table, version, "repair")), 0)

    def _of_summary(self, job: str, stamps: Range, minutes: Range) -> CommitInput:
        """The batches since a summary's last commit, by their commits to gold.visitor_minutes.

        A commit that does not name the sequence that it is done up to has what there was up to its stamp. A
        batch of repaired events alone has the stamp of the one before, and is then counted to both summaries
        around it.
        """
        first = minutes[0] or self._sequence(job, stamps[0], least=True)
        minutes = first, minutes[1] or self._sequence(job, stamps[1])
        parts = [self.find(MINUTES, version, marks) for version, marks in self._of_minutes(job, minutes)]
        new = _kept([each for part in parts for each in part.new])
        repaired = _kept([each for part in parts for each in part.repaired])
        return CommitInput(job, new, repaired, self._batches(job, stamps[1])[-1].watermark, minutes)

    def _sequence(self, job: str, upto: int, least: bool = False) -> int:
        """The last sequence of gold.visitor_minutes up to a stamp, or the least of the last stamp."""
        found = 0, 0
        for _, marks in self._earlier(MINUTES, self._latest_version(MINUTES) + 1, job):
            if found[0] and not (least and marks.upto == found[0]):
                break
            if int(marks.upto or 0) <= upto:
                found = int(marks.upto or 0), marks.sequence
        return found[1]

    def _latest_version(self, table: str) -> int:
        found = latest_version(self._rows.folder(table), self._latest.get(table, -1))
        self._latest[table] = found
        return found

    def _of_minutes(self, job: str, minutes: Range) -> Iterator[tuple[int, Marks]]:
        """Commits to gold.visitor_minutes with a sequence in a range."""
        for version, marks in self._earlier(MINUTES, self._latest_version(MINUTES) + 1, job):
            if marks.sequence <= minutes[0]:
                return
            if marks.sequence <= minutes[1]:
                yield version, marks

    def _earlier(self, table: str, version: int, job: str) -> Iterator[tuple[int, Marks]]:
        """Versions and marks of a job's earlier commits with an `upto`, as far as the log goes back."""
        folder = self._rows.folder(table)
        for number in range(version - 1, -1, -1):
            if (table, number) not in self._marks and not commit_file(folder, number).exists():
                return
            marks = self.marks(table, number)
            if marks.job == job and marks.upto is not None:
                yield number, marks

    def _batches(self, job: str, upto: int) -> list[_Entry]:
        """The batches that a commit up to a stamp may be of: of the first position from there on."""
        found = self._reaching(job, upto)
        if not found:
            self._entries.pop(job, None)
            found = self._reaching(job, upto)
        return [each for each in found if each.position == found[0].position]

    def _reaching(self, job: str, upto: int) -> list[_Entry]:
        return [each for each in self._of(job) if each.position >= upto]

    def _before(self, job: str, entry: _Entry) -> _Entry:
        earlier = [each for each in self._of(job) if each.batch_id < entry.batch_id]
        return earlier[-1] if earlier else _NO_ENTRY

    def _of(self, job: str) -> list[_Entry]:
        """A job's rows in order."""
        if job not in self._entries:
            columns = ("batch_id", "position", "heard", "watermark")
            rows = self._rows.find(_LEDGER, columns, pc.field("job") == pa.scalar(job))
            self._entries[job] = sorted(_Entry(*(value or 0 for value in row)) for row in rows)
        return self._entries[job]


def _marks(folder: Path, version: int) -> Marks:
    found = read_metadata(folder, version)
    numbers = (int(found.get(name) or 0) for name in ("heard", "minutes", "sequence"))
    return Marks(found.get("job"), found.get("upto"), *numbers)


def _kept(ranges: list[Range]) -> list[Range]:
    return sorted({each for each in ranges if each[0] < each[1]})
