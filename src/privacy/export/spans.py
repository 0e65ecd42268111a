"""Conditions on rows: is a visitor's row a person's, by the spans of silver.identities?"""

import polars as pl

from privacy.identities import IDENTITIES, Person, Scan

_BOUNDS = ("valid_from", "from_event_id", "valid_to", "to_event_id")
_MINUTE = pl.duration(minutes=1)
_ROW = "_row"


class Spans:
    """The spans of a person, and visitors who are the person all the time.

    Args:
        scan: reads tables in folders.
        person: whose they are.
    """

    def __init__(self, scan: Scan, person: Person) -> None:
        spans = scan(IDENTITIES)
        self._visitors = list(person.visitors)
        self._users = list(person.users)
        self._spans: pl.DataFrame | None = None
        self.whole = person.visitors
        if spans is not None:
            known: pl.LazyFrame = spans.to_native().filter(pl.col("visitor_id").is_in(self._visitors))
            found = known.select("visitor_id", "user_id", *_BOUNDS).collect()
            self._spans = found.filter(pl.col("user_id").is_in(self._users)).drop("user_id")
            self._spans = self._spans.rename(
                {name: f"_{name}" for name in _BOUNDS}
            )  # tables have such columns
            self.whole = person.visitors - set(found["visitor_id"])

    @property
    def persons(self) -> list[str]:
        """The values of `person_id` that are the person."""
        return sorted({*self._users, *self.whole})

    def rows(self, table: pl.LazyFrame, time: str, event: str) -> pl.LazyFrame:
        """The person's rows: those whose event is in a span.

        Args:
            table: with visitor_id, and an event's time and UID.
            time: column of the time.
            event: column of the UID.
        """
        at, uid = pl.col(time), pl.col(event)
        starts, ends = pl.col("_valid_from"), pl.col("_valid_to")
        is_after = starts.is_null() | (at > starts) | ((at == starts) & (uid >= pl.col("_from_event_id")))
        is_before = ends.is_null() | (at < ends) | ((at == ends) & (uid < pl.col("_to_event_id")))
        return self._inside(table, is_after & is_before)

    def minutes(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """The person's rows of a table by visitor and minute: those whose minute meets a span."""
        minute, starts, ends = pl.col("minute"), pl.col("_valid_from"), pl.col("_valid_to")
        is_after = starts.is_null() | (minute + _MINUTE > starts)
        return self._inside(table, is_after & (ends.is_null() | (minute <= ends)))

    def _inside(self, table: pl.LazyFrame, condition: pl.Expr) -> pl.LazyFrame:
        """The person's rows of some visitors, which are read once: numbers of rows hold for one reading."""
        found = table.filter(pl.col("visitor_id").is_in(self._visitors)).collect()
        if self._spans is None:
            return found.lazy()
        theirs = found.lazy().with_row_index(_ROW)
        is_whole = pl.col("visitor_id").is_in(list(self.whole))
        inside = theirs.join(self._spans.lazy(), on="visitor_id").filter(condition)
        numbers = pl.concat([theirs.filter(is_whole).select(_ROW), inside.select(_ROW)]).unique()
        return theirs.join(numbers, on=_ROW, how="semi", maintain_order="left").drop(_ROW)
