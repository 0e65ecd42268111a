"""Tables whose rows grow as events come: what refine and repair must know of each."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.contracts.silver import SESSIONS
from silver.offers import PROMOTIONS, RESULTS, Offers, join_pieces, take_apart, to_pieces, touched_offers
from silver.offers import mark_open as mark_offers
from silver.rules.sessions import TYPES
from silver.sessions import fragments_of, join_fragments, mark_open, to_fragments, touched_sessions


@dataclass(frozen=True)
class Growing:
    """A table partitioned by `is_open`: whether an event on time may still change the row.

    Rows are made of pieces, the smallest of which are events. Joined with others, rows taken apart give
    the rows that all events together give.

    Args:
        name: the table.
        takes: which events it takes: SQL over silver.events.
        to_pieces: events to pieces.
        take_apart: rows to pieces.
        join: pieces to rows without `is_open`.
        mark_open: rows and the watermark to rows of the table.
        touched: rows, late pieces, and the times of the first and last of them, to the rows that these
            may change.
    """

    name: str
    takes: str
    to_pieces: Callable[[DataFrame], DataFrame]
    take_apart: Callable[[DataFrame], DataFrame]
    join: Callable[[DataFrame], DataFrame]
    mark_open: Callable[[DataFrame, datetime], DataFrame]
    touched: Callable[[DataFrame, DataFrame, datetime, datetime], DataFrame]

    def grow(self, rows: DataFrame, pieces: DataFrame, watermark: datetime) -> DataFrame:
        """What rows become with more pieces, at a watermark."""
        grown = self.mark_open(self.join(pieces.unionByName(self.take_apart(rows))), watermark)
        return grown.select(*TABLES[self.name].column_names)

    def advance(self, rows: DataFrame, pieces: DataFrame, watermark: datetime) -> DataFrame:
        """The same, for many rows and few pieces: only rows of visitors who have new pieces are taken apart.

        Args:
            rows: of the table.
            pieces: settled, since they are looked at three times.
            watermark: as it is now.
        """
        visitors = F.broadcast(pieces.select("visitor_id").distinct())
        theirs, others = (rows.join(visitors, "visitor_id", how) for how in ("left_semi", "left_anti"))
        marked = self.mark_open(others, watermark).select(*TABLES[self.name].column_names)
        return self.grow(theirs, pieces, watermark).unionByName(marked)


def _any_of(column: str, *values: str) -> str:
    return f"{column} IN ({', '.join(map(repr, values))})"


def _growing(kind: Offers) -> Growing:
    return Growing(
        name=kind.table.name,
        takes=_any_of("role", kind.rule.offer, kind.rule.click),
        to_pieces=partial(to_pieces, kind),
        take_apart=partial(take_apart, kind),
        join=partial(join_pieces, kind),
        mark_open=partial(mark_offers, kind),
        touched=partial(touched_offers, kind),
    )


GROWING = (
    Growing(
        name=SESSIONS.name,
        takes=_any_of("type", *TYPES),
        to_pieces=to_fragments,
        take_apart=fragments_of,
        join=join_fragments,
        mark_open=mark_open,
        touched=touched_sessions,
    ),
    _growing(PROMOTIONS),
    _growing(RESULTS),
)
LOCK = SESSIONS.name  # held by whoever rewrites any of them
