"""Dimensions of a micro-batch: identities, bots and exchange rates."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from folds.persons.exchange_rates import ExchangeRates, Rate
from lakehouse.contracts.silver import BOTS, EXCHANGE_RATES, IDENTITIES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.arrow_frames import rows_of, with_any_of
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.microbatch import Batch
from lakehouse.timestamps import EPOCH, to_micros


@dataclass(frozen=True)
class Dimensions:
    """Identities, bots and exchange rates.

    They may include later rows than the micro-batch. Later micro-batches report these rows as new again.

    Args:
        lake: the tables.
        watermark: the watermark of the upstream job, in microseconds.
        bots: visitor_id of every bot.
        new_bots: visitor_id of bots found since the last micro-batch.
        renamed: visitor_id -> all user ids, for visitors identified since the last micro-batch.
        rates: exchange rates by currency and time.
        new_rates: exchange rates that arrived in this micro-batch.
    """

    lake: Lakehouse
    watermark: int
    bots: frozenset[str]
    new_bots: frozenset[str]
    renamed: dict[str, list[str]]
    rates: ExchangeRates
    new_rates: list[Rate]

    def people(self, rows: DataFrame) -> DataFrame:
        """Rows of visitors that are not bots."""
        return with_any_of(rows, "visitor_id", self.bots, "left_anti") if self.bots else rows

    def persons_of(self, visitors: Collection[str]) -> dict[str, str]:
        """The person_id of each visitor: the user id, else the visitor_id."""
        known = self._identities("visitor_id", visitors)
        return {visitor: known.get(visitor, visitor) for visitor in visitors}

    def visitors_of(self, persons: Collection[str]) -> dict[str, str]:
        """Visitor -> person, for all visitors of some persons.

        A visitor without a user id is its own person, and is assumed to exist.
        """
        named = self._identities("user_id", persons)
        elsewhere = self._identities("visitor_id", persons)
        alone = {person: person for person in persons if elsewhere.get(person, person) == person}
        return {**alone, **named}

    def _identities(self, column: str, values: Collection[str]) -> dict[str, str]:
        """Visitor -> user id, for rows of silver.identities with one of the values."""
        if not values:
            return {}
        columns = ("visitor_id", "user_id")
        return dict(rows_of(self.lake.find(IDENTITIES.name, Lookup(columns, key=(column, values))), columns))


class DimensionLoader:
    """Loads dimensions. A table is read again only when its version changes.

    Args:
        lake: the tables, as publish reads them.
        currency: the reporting currency.
    """

    def __init__(self, lake: Lakehouse, currency: str) -> None:
        self._lake = lake
        self._currency = currency
        self._known: dict[str, tuple[int, pa.Table]] = {}

    def load(self, batch: Batch) -> Dimensions:
        """The dimensions of a micro-batch."""
        bots = self._table(BOTS.name, "visitor_id", "ingested_at")
        rates = self._table(EXCHANGE_RATES.name, *Rate._fields, "ingested_at")
        changed_bots = stamped(bots, batch.side_input_after, batch.side_input_upto)
        return Dimensions(
            lake=self._lake,
            watermark=to_micros(batch.upstream_watermark or EPOCH),
            bots=frozenset(bots["visitor_id"].to_pylist()),
            new_bots=frozenset(changed_bots["visitor_id"].to_pylist()),
            renamed=self._renamed(batch) if batch.has_side_input else {},
            rates=ExchangeRates(_rates(rates), self._currency),
            new_rates=_rates(stamped(rates, batch.after, batch.upto)),
        )

    def load_all(self, watermark: datetime) -> Dimensions:
        """The current dimensions, none of them new."""
        return self.load(Batch(id=0, after=EPOCH, upto=EPOCH, rows=0, upstream_watermark=watermark))

    def _renamed(self, batch: Batch) -> dict[str, list[str]]:
        stamps = TimePruner.of_spans(
            [(to_micros(batch.side_input_after) + 1, to_micros(batch.side_input_upto))]
        )
        columns = ("visitor_id", "user_ids")
        wanted = Lookup(columns, near=stamps, start="ingested_at")
        return dict(rows_of(self._lake.find(IDENTITIES.name, wanted), columns))

    def _table(self, name: str, *columns: str) -> pa.Table:
        version = self._lake.version(name)
        if name not in self._known or self._known[name][0] != version:
            self._known[name] = version, self._lake.find(name, Lookup(columns))
        return self._known[name][1]


def stamped(rows: pa.Table, after: datetime, upto: datetime) -> pa.Table:
    """Rows with an ingest stamp in (after, upto]."""
    stamp = rows["ingested_at"]
    return rows.filter(pc.and_(pc.greater(stamp, to_micros(after)), pc.less_equal(stamp, to_micros(upto))))


def _rates(rows: pa.Table) -> list[Rate]:
    return [Rate(*row) for row in zip(*(rows[name].to_pylist() for name in Rate._fields), strict=True)]
