"""Plans micro-batches: the rows that the upstream job has committed since the last one."""

import time
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate

from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.run.ledger_cache import MOST_ROWS
from lakehouse.timestamps import EPOCH


@dataclass(frozen=True)
class Batch:
    """A micro-batch: the rows whose ingest stamp is in (after, upto].

    Args:
        id: counts up from 0.
        after: high-water mark of the last batch.
        upto: high-water mark of this batch. A bronze commit has one stamp, so it is never split.
        rows: rows that the upstream job read for these stamps.
        watermark: the job's own after its last batch; None before its first.
        upstream_watermark: the upstream job's at `upto`.
        side_input_after: high-water mark of the side input at the last batch.
        side_input_upto: high-water mark of the side input at this batch.
        producers: promises of live producers after the job's last batch, as JSON; None if none was live.
    """

    id: int
    after: datetime
    upto: datetime
    rows: int
    watermark: datetime | None = None
    upstream_watermark: datetime | None = None
    side_input_after: datetime = EPOCH
    side_input_upto: datetime = EPOCH
    producers: str | None = None

    @property
    def has_side_input(self) -> bool:
        """Whether the side input has advanced since the last batch."""
        return self.side_input_upto > self.side_input_after


@dataclass
class BatchSource:
    """Plans the batches of a job.

    Args:
        run: the job's context.
        ledger: the ledger.
        upstream: the upstream job.
        side_input: another job whose changes are an input as well; None if there is none.
        processed_through: high-water mark of the job's tables; see `run_microbatches`.
    """

    run: JobContext
    ledger: Ledger
    upstream: str
    side_input: str | None
    processed_through: datetime
    _waiting_since: float | None = field(default=None, init=False)  # on the monotonic clock

    def next_batch(self, last: Entry | None) -> Batch | None:
        """The batch after the last one, or None if there are no rows. Reports the backlog."""
        after = last.position if last else EPOCH
        pending = self.ledger.after(self.upstream, after)
        most = self.run.settings.max_batch_rows
        batch = _next_batch(last, pending, most, self.processed_through)
        if self.side_input:
            batch = _with_side_input(batch, last, self.ledger.last(self.side_input))
        if batch is None or batch.upto > batch.after or self.run.once:
            self._waiting_since = None
        elif self._waiting_since is None:
            self._waiting_since = time.monotonic()
        if batch is None or self._can_wait():
            return None
        is_all = len(pending) < MOST_ROWS
        self.run.report_backlog(
            _rows(pending) if is_all else self.ledger.input_rows_after(self.upstream, after)
        )
        return batch

    def _can_wait(self) -> bool:
        """Whether a batch of the side input alone can wait for rows: a trigger interval at most."""
        if self._waiting_since is None:
            return False
        return time.monotonic() - self._waiting_since < self.run.settings.trigger_interval.total_seconds()


def _next_batch(
    last: Entry | None, pending: list[Entry], max_rows: int, processed_through: datetime
) -> Batch | None:
    """The first batch of the pending entries."""
    if not pending:
        return None
    entries = _entries_of_one(pending, max_rows, processed_through)
    taken = entries[-1]
    return Batch(
        id=last.batch_id + 1 if last else 0,
        after=last.position if last else EPOCH,
        upto=taken.position,
        rows=_rows(entries),
        watermark=last.watermark if last else None,
        upstream_watermark=taken.watermark,
        producers=last.producers if last else None,
    )


def _entries_of_one(pending: list[Entry], max_rows: int, processed_through: datetime) -> list[Entry]:
    """Whole upstream batches: those of an interrupted batch, else at most `max_rows`, but at least one."""
    if pending[0].position <= processed_through:
        return [entry for entry in pending if entry.position <= processed_through]
    rows = list(accumulate(entry.input_rows for entry in pending))
    return pending[: max(1, bisect_right(rows, max_rows))]


def _rows(entries: list[Entry]) -> int:
    return sum(entry.input_rows for entry in entries)


def _with_side_input(batch: Batch | None, last: Entry | None, other: Entry | None) -> Batch | None:
    """The batch with the changes of the side input, or a batch of these alone after the first batch."""
    before = (last.heard if last else None) or EPOCH
    now_at = max(before, other.position if other else EPOCH)
    if batch is None and last is not None and now_at > before:
        batch = Batch(
            id=last.batch_id + 1,
            after=last.position,
            upto=last.position,
            rows=0,
            watermark=last.watermark,
            upstream_watermark=last.watermark,
            producers=last.producers,
        )
    return None if batch is None else replace(batch, side_input_after=before, side_input_upto=now_at)
