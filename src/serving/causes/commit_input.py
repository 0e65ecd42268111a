"""The input of a commit: ranges of ingest stamps, from the table's log and ops.ledger."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lakehouse.contracts import TABLES
from lakehouse.readers.row_conditions import IsIn, Range
from serving.causes.table_rows import TableRows

_LEDGER = "ops.ledger"
MINUTES = "gold.visitor_minutes"


class Marks(NamedTuple):
    """High-water marks of a commit, in microseconds.

    Args:
        job: job that wrote the commit; None if its metadata has none.
        upto: ingest stamp that its input was processed through; None if it had no new input.
        side_input: the same for the side input, events that repair has processed; 0 if it has none.
        minutes: sequence of gold.visitor_minutes that was processed through; 0 if its metadata has none.
        sequence: sequence of a commit to gold.visitor_minutes; 0 for other tables.
    """

    job: str | None = None
    upto: int | None = None
    side_input: int = 0
    minutes: int = 0
    sequence: int = 0


class CommitInput(NamedTuple):
    """The input of a commit.

    Args:
        job: job that wrote the commit.
        new: ranges of ingest stamps of new input.
        repaired: ranges of ingest stamps of late events and identities that repair has processed since.
        watermark: watermark of the job after the batch, in microseconds; 0 if it has none.
        minutes: range of `sequence` in gold.visitor_minutes, first excluded, for tables computed from it.
    """

    job: str
    new: list[Range]
    repaired: list[Range]
    watermark: int
    minutes: Range = (0, 0)

    @property
    def last(self) -> int:
        """The last ingest stamp of the input."""
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
        rows: reader of the tables.
    """

    def __init__(self, rows: TableRows) -> None:
        self._rows = rows
        self._entries: dict[str, list[_Entry]] = {}
        self._marks: dict[tuple[str, int], Marks] = {}
        self._latest: dict[str, int] = {}

    def marks(self, table: str, version: int) -> Marks:
        """The high-water marks of a commit, which are cached: they never change."""
        if (table, version) not in self._marks:
            self._marks[table, version] = _marks(self._rows.tables.metadata(table, version) or {})
        return self._marks[table, version]

    def is_known(self, marks: Marks) -> bool:
        """Whether the ledger has the batch of a commit: jobs write its row last, also after a crash."""
        return marks.job is None or marks.upto is None or bool(self._batches(marks.job, marks.upto))

    def find(self, table: str, version: int, marks: Marks) -> CommitInput:
        """The input of a commit, whose marks have a job and `upto`, and whose batch is in the ledger."""
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
        """The last version of a table with a job's input through an ingest stamp; 0 if there is none."""
        commits = self._earlier(table, self._latest_version(table) + 1, job)
        return next((version for version, marks in commits if int(marks.upto or 0) <= upto), 0)

    def repaired_through(self, table: str, version: int) -> int:
        """The ingest stamp of repair's last commit to a table before a version; 0 if there is none."""
        return next((marks.upto or 0 for _, marks in self._earlier(table, version, "repair")), 0)

    def _of_summary(self, job: str, stamps: Range, minutes: Range) -> CommitInput:
        """The input of all batches since a summary's last commit, from their gold.visitor_minutes commits.

        If the summary's metadata has no sequence, the commits up to its ingest stamp count. A batch with only
        repaired events has the same stamp as the batch before; it then counts for the summary before it and
        the one after it.
        """
        first = minutes[0] or self._sequence(job, stamps[0], least=True)
        minutes = first, minutes[1] or self._sequence(job, stamps[1])
        parts = [self.find(MINUTES, version, marks) for version, marks in self._of_minutes(job, minutes)]
        new = _kept([each for part in parts for each in part.new])
        repaired = _kept([each for part in parts for each in part.repaired])
        return CommitInput(job, new, repaired, self._batches(job, stamps[1])[-1].watermark, minutes)

    def _sequence(self, job: str, upto: int, least: bool = False) -> int:
        """The last sequence of gold.visitor_minutes through a stamp, or the first one with that stamp."""
        found = 0, 0
        for _, marks in self._earlier(MINUTES, self._latest_version(MINUTES) + 1, job):
            if found[0] and not (least and marks.upto == found[0]):
                break
            if int(marks.upto or 0) <= upto:
                found = int(marks.upto or 0), marks.sequence
        return found[1]

    def _latest_version(self, table: str) -> int:
        found = self._rows.tables.latest_version(table, self._latest.get(table, -1))
        self._latest[table] = found
        return found

    def _of_minutes(self, job: str, minutes: Range) -> Iterator[tuple[int, Marks]]:
        """Versions and marks of commits to gold.visitor_minutes with a sequence in a range."""
        for version, marks in self._earlier(MINUTES, self._latest_version(MINUTES) + 1, job):
            if marks.sequence <= minutes[0]:
                return
            if marks.sequence <= minutes[1]:
                yield version, marks

    def _earlier(self, table: str, version: int, job: str) -> Iterator[tuple[int, Marks]]:
        """Versions and marks of a job's earlier commits with an `upto`, latest first, as far as logged."""
        for number in range(version - 1, -1, -1):
            if (table, number) not in self._marks and self._rows.tables.metadata(table, number) is None:
                return
            marks = self.marks(table, number)
            if marks.job == job and marks.upto is not None:
                yield number, marks

    def _batches(self, job: str, upto: int) -> list[_Entry]:
        """The batches that may have written a commit: those at the first position from its stamp on."""
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
        """A job's rows of ops.ledger in order, cached."""
        if job not in self._entries:
            columns = ("batch_id", "position", "heard", "watermark")
            rows = self._rows.find(_LEDGER, columns, IsIn("job", [job]))
            self._entries[job] = sorted(_Entry(*(value or 0 for value in row)) for row in rows)
        return self._entries[job]


def _marks(found: Mapping[str, Any]) -> Marks:
    numbers = (int(found.get(name) or 0) for name in ("heard", "minutes", "sequence"))
    return Marks(found.get("job"), found.get("upto"), *numbers)


def _kept(ranges: list[Range]) -> list[Range]:
    return sorted({each for each in ranges if each[0] < each[1]})
