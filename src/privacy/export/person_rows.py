"""Everything that is stored of a person, table by table."""

from collections.abc import Iterator
from functools import reduce
from typing import Any

import polars as pl

from lakehouse.contracts import TABLES
from privacy.export.spans import Spans
from privacy.export.tables import (
    BY_CONVERSION,
    BY_MINUTE,
    BY_PERSON,
    BY_RECORD,
    BY_SPAN,
    BY_TEXT,
    BY_USER,
    BY_VISITOR,
)
from privacy.identities import Person, Scan
from privacy.search.matching.matcher import Matcher
from privacy.search.matching.values import find_in_values

_RECORD = ("topic", "partition", "offset")
_STAMP = "ingested_at"
_BATCH = 20_000  # rows


class PersonRows:
    """The rows of a person.

    Args:
        scan: reads tables in folders.
        person: whose rows.
    """

    def __init__(self, scan: Scan, person: Person) -> None:
        self._tables = scan
        self._person = person
        self._spans = Spans(scan, person)
        self._matcher = Matcher(person.own_texts) if person.own_texts else None

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
            return self._naming(table, BY_TEXT[name])
        if name in BY_CONVERSION:
            return table.join(self._conversions(), on="conversion_id", how="semi")
        columns = {
            **dict.fromkeys(BY_USER, ("user_id", person.users)),
            **dict.fromkeys(BY_VISITOR, ("visitor_id", person.visitors)),
            **dict.fromkeys(BY_PERSON, ("person_id", self._spans.persons)),
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
        events = self._events()
        if name == "silver.duplicate_events":
            return None if events is None else table.join(events, on="event_id", how="semi")
        if name == "silver.rejected_events":
            return self._naming(table, "value")
        known = [] if events is None else [events.select(_RECORD)]
        for other in ("silver.duplicate_events", "silver.rejected_events"):
            found = self._scan(other)
            rows = None if found is None else self._of_records(other, found)
            known += [] if rows is None else [rows.select(_RECORD)]
        changes = self._scan("silver.shop_changes")
        if changes is not None:
            known.append(self._naming(changes, BY_TEXT["silver.shop_changes"]).select(_RECORD))
        new = table if (refined := self._refined()) is None else table.filter(pl.col(_STAMP) > refined)
        known.append(self._naming(new, "value").select(_RECORD))
        return table.join(pl.concat(known, how="vertical_relaxed").unique(), on=_RECORD, how="semi")

    def _refined(self) -> Any:
        """The ingest stamp up to which records of bronze are in silver; None: none is."""
        ledger = self._scan("ops.ledger")
        if ledger is None:
            return None
        return ledger.filter(pl.col("job") == "refine").select(pl.col("position").max()).collect().item()

    def _naming(self, table: pl.LazyFrame, column: str) -> pl.LazyFrame:
        """Rows that name the person in a column, which is read in batches."""
        places = [self._matching(batch, column) for batch in table.collect_batches(chunk_size=_BATCH)]
        empty = table.collect_schema().to_frame()
        return reduce(lambda all_, rows: all_.vstack(rows), places, empty).lazy()

    def _matching(self, batch: pl.DataFrame, column: str) -> pl.DataFrame:
        texts = [text or b"" for text in batch[column].cast(pl.Binary).to_list()]
        found = () if self._matcher is None else find_in_values(self._matcher, texts)
        numbers = sorted({number for number, match in found if match.is_whole})
        return batch[numbers]
