"""What publish has written to gold before it was started: an interrupted batch is already approved."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from lakehouse.contracts.lineage import tables_of
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.batch_source import Batch
from lakehouse.run.ledger import Entry
from lakehouse.timestamps import EPOCH, from_micros

_PUBLISHED = tuple(
    table.name for table in tables_of("gold") if table.writer == "publish" and table.cadence == "batch"
)


@dataclass(frozen=True)
class PublishedThrough:
    """High-water marks of publish, from the metadata of gold's commits.

    Args:
        rows: ingest stamp of the latest rows that are in a table of gold.
        side_input: the same of the side input.
    """

    rows: datetime
    side_input: datetime

    @classmethod
    def of(cls, lake: Lakehouse) -> "PublishedThrough":
        """The marks of the tables as they are now."""
        written = [lake.last_commit(name) for name in _PUBLISHED]
        return cls(_latest(written, "upto"), _latest(written, "heard"))

    def is_whole(self, last: Entry | None) -> bool:
        """Whether gold has nothing of a batch without a ledger row; `last` is publish's latest row."""
        rows, side_input = (last.position, last.heard or EPOCH) if last else (EPOCH, EPOCH)
        return self.rows <= rows and self.side_input <= side_input

    def interrupted(self, batch: Batch) -> Batch | None:
        """The batch if it was interrupted: it was approved, and a part of it may be in gold already.

        It is repeated with its own side input; what has been added since comes with the next one.
        """
        if batch.after < batch.upto <= self.rows:
            side_input_at = max(batch.side_input_after, min(batch.side_input_upto, self.side_input))
            return replace(batch, side_input_upto=side_input_at)
        # It had changes of repair only:
        if batch.after < batch.upto and batch.side_input_after < self.side_input:
            return replace(
                batch,
                upto=batch.after,
                rows=0,
                upstream_watermark=batch.watermark,
                side_input_upto=self.side_input,
            )
        return None


def _latest(commits: Iterable[Mapping[str, Any]], stamp: str) -> datetime:
    """The latest value of an ingest stamp in the metadata of commits."""
    return max((from_micros(each[stamp]) for each in commits if stamp in each), default=EPOCH)
