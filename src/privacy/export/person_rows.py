"""Everything that is stored of a person, table by table."""

from collections.abc import Callable, Collection, Iterator
from functools import partial, reduce
from typing import Any

import polars as pl

from lakehouse.contracts import TABLES
from privacy.export.own_rows import ExportRules, OwnRows
from privacy.export.spans import Spans
from privacy.export.tables import (
    BY_CONVERSION,
    BY_CUSTOMER,
    BY_MINUTE,
    BY_PERSON,
    BY_RECORD,
    BY_SPAN,
    BY_TEXT,
    BY_USER,
    BY_VISITOR,
)
from privacy.identities import Person, Scan

_RECORD = ("topic", "partition", "offset")
_STAMP = "ingested_at"
_BATCH = 20_000  # rows


class PersonRows:
    """The rows of a person.

    Args:
        scan: reads tables in folders.
        person: whose rows.
        rules: say whose a record is.
    """

    def __init__(self, scan: Scan, person: Person, rules: ExportRules) -> None:
        self._tables = scan
        self._person = person
        self._spans = Spans(scan, person)
        self._shop_topic = rules.shop_topic
        self._own = OwnRows(person, rules)

    def _scan(self, name: str) -> pl.LazyFrame | None:
        table = self._tables(name)
        return None if table is None else table.to_native()

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each row with the name of its table, in order of the contracts; columns in order of the table."""
        for name in TABLES:
            table = self._scan(name)
            rows = None if table is None else self._rows(name, table)
            for batch in () if rows is None else rows.collect_batches(chunk_size=_BATCH, maintain_order=True):
                yield from ((name, row) for row in batch.iter_rows(named=True))

    def _rows(self, name: str, table: pl.LazyFrame) -> pl.LazyFrame | None:
        person = self._person
        if name in BY_SPAN:
            return self._of_spans(name, table)
        if name in BY_MINUTE:
            return self._spans.minutes(table)
        if name in BY_RECORD:
            return self._of_records(name, table)
        if name in BY_TEXT:
            return _where(table, partial(self._own.naming, column=BY_TEXT[name]))
        if name in BY_CONVERSION:
            return table.join(self._conversions(), on="conversion_id", how="semi")
        columns = {
            **dict.fromkeys(BY_USER, ("user_id", person.users)),
            **dict.fromkeys(BY_VISITOR, ("visitor_id", person.visitors)),
            **dict.fromkeys(BY_PERSON, ("person_id", self._spans.persons)),
            **dict.fromkeys(BY_CUSTOMER, ("customer_id", person.users)),
        }
        column, values = columns.get(name, ("", ()))
        return table.filter(pl.col(column).is_in(list(values))) if column else None

    def _of_spans(self, name: str, table: pl.LazyFrame) -> pl.LazyFrame:
        rows = self._spans.rows(table, *BY_SPAN[name])
        if "user_id" not in table.collect_schema():
            return rows
        sent = table.filter(pl.col("user_id").is_in(list(self._person.users)))  # whatever the spans are yet
        return pl.concat([rows, sent]).unique(list(TABLES[name].key), maintain_order=True)

    def _conversions(self) -> pl.LazyFrame:
        table = self._scan("gold.conversions")
        if table is None:
            return pl.LazyFrame(schema={"conversion_id": pl.String})
        theirs = table.filter(pl.col("person_id").is_in(self._spans.persons))
        return theirs.select("conversion_id")

    def _events(self) -> pl.LazyFrame | None:
        table = self._scan("silver.events")
        return None if table is None else self._of_spans("silver.events", table).select("event_id", *_RECORD)

    def _of_records(self, name: str, table: pl.LazyFrame) -> pl.LazyFrame | None:
        if name == "silver.rejected_events":
            return _where(table, self._own.rejected)
        if name == "silver.shop_changes":
            return _where(table, self._own.changes)
        events = self._events()
        if name == "silver.duplicate_events":
            return None if events is None else table.join(events, on="event_id", how="semi")
        known = [] if events is None else [events.select(_RECORD)]
        for other in ("silver.duplicate_events", "silver.rejected_events", "silver.shop_changes"):
            found = self._scan(other)
            rows = None if found is None else self._of_records(other, found)
            known += [] if rows is None else [rows.select(_RECORD)]
        is_of_shop = pl.col("topic") == self._shop_topic
        new = self._new(table.filter(~is_of_shop), "refine")
        new_changes = self._new(table.filter(is_of_shop), "dimensions")
        known.append(_where(new, self._own.records).select(_RECORD))
        known.append(_where(new_changes, self._own.change_records).select(_RECORD))
        return table.join(pl.concat(known, how="vertical_relaxed").unique(), on=_RECORD, how="semi")

    def _new(self, records: pl.LazyFrame, job: str) -> pl.LazyFrame:
        """Records that a job has not processed yet."""
        ledger = self._scan("ops.ledger")
        if ledger is None:
            return records
        processed = ledger.filter(pl.col("job") == job).select(pl.col("position").max()).collect().item()
        return records if processed is None else records.filter(pl.col(_STAMP) > processed)


def _where(table: pl.LazyFrame, find: Callable[[pl.DataFrame], Collection[int]]) -> pl.LazyFrame:
    """Rows whose numbers a function finds in each batch."""
    found = (batch[sorted(find(batch))] for batch in table.collect_batches(chunk_size=_BATCH))
    return reduce(pl.DataFrame.vstack, found, table.collect_schema().to_frame()).lazy()
