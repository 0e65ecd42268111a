"""New rows of silver as DuckDB queries for expectations, for few rows."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from gold.gate.gate_inputs import DAY, HOUR, RECORDS, hours_to_compare
from lakehouse.contracts import TABLES
from lakehouse.contracts.exposures import IMPRESSIONS
from lakehouse.contracts.silver import EVENTS, REJECTED_EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.quality.metrics import IS_RECORD, SOURCE
from lakehouse.quality.sql_conditions import COLUMN_SET, literal
from lakehouse.quality.suites import Suite
from lakehouse.rows.driver_or_spark import local_rows
from lakehouse.rows.duckdb_sql import connect, requoted
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import LAST, span_micros, to_micros

_PLAIN = pa.timestamp("us")
_HOUR, _DAY = span_micros(HOUR), span_micros(DAY)


class InspectedRows:
    """Rows of silver in one DuckDB connection.

    Args:
        lake: the tables.
        suites: the expectations, for the columns that they compute.
    """

    def __init__(self, lake: Lakehouse, suites: Mapping[str, Suite]) -> None:
        self._lake = lake
        self._suites = suites
        self._asked = _texts_of(suites)
        self.connection: Any = connect()

    def records(self, after: datetime, upto: datetime) -> str:
        """The query for `gold.gate.gate_inputs.new_records`."""
        stamps = TimePruner([(to_micros(after) + 1, to_micros(upto))])
        topic = literal(self._lake.settings.exchange_rates_topic)
        parts = []
        for name in RECORDS:
            is_refused = name == REJECTED_EVENTS.name
            every = "* EXCLUDE (value)" if is_refused else "*"
            is_record = f"topic <> {topic}" if is_refused else "TRUE"
            rows = self._rows(name, stamps, "ingested_at")
            parts.append(f"SELECT {every}{self._computed(name)}, {is_record} AS {IS_RECORD} FROM {rows}")
        return " UNION ALL BY NAME ".join(parts)

    def impressions(self, watermark: datetime) -> str:
        """The query for impressions later than a watermark."""
        later = TimePruner([(to_micros(watermark) + 1, to_micros(LAST))])
        rows = self._rows(IMPRESSIONS.name, later, "event_time")
        return f"SELECT *{self._computed(IMPRESSIONS.name)} FROM {rows}"

    def hours(self, before: datetime, now: datetime) -> str | None:
        """The query for `gold.gate.gate_inputs.compare_hours`; None if no hour has become complete."""
        span = hours_to_compare(before, now)
        if span is None:
            return None
        low, high = map(to_micros, span)
        near = TimePruner.of_spans([(low - _DAY, high - 1 - _DAY), (low, high - 1)])
        times = self._lake.find(EVENTS.name, Lookup(("event_time",), near, "event_time"))["event_time"]
        counts = Counter((times.cast(pa.int64()).to_numpy() // _HOUR * _HOUR).tolist())
        rows = [(at, counts[at], counts[at - _DAY]) for at in range(low, high, _HOUR) if counts[at - _DAY]]
        fields = [
            pa.field("hour", _PLAIN),
            *(pa.field(name, pa.int64()) for name in ("events", "events_before")),
        ]
        self.connection.register("hours", local_rows(fields, rows))
        return "SELECT *, events / events_before AS volume FROM hours"

    def _computed(self, name: str) -> str:
        suite = self._suites.get(name)
        columns = {**(suite.columns if suite else {}), SOURCE: f"'{name}'"}
        return "".join(f", {requoted(sql)} AS {column}" for column, sql in columns.items())

    def _rows(self, name: str, near: TimePruner, time: str) -> str:
        """Register rows of a table. Times have no time zone, since DuckDB would download its time zones."""
        contract = TABLES[name]
        columns = tuple(column for column in contract.column_names if column in self._asked)
        rows = self._lake.find(name, Lookup(columns, near, time))
        times = {column.name for column in contract.columns if column.type == "timestamp"}
        fields = [pa.field(each.name, _PLAIN) if each.name in times else each for each in rows.schema]
        self.connection.register(contract.short_name, rows.cast(pa.schema(fields)))
        return contract.short_name


def _texts_of(suites: Mapping[str, Suite]) -> str:
    """Text of all expectations and computed columns. Only columns that it contains are read."""
    about = [each for suite in suites.values() for each in suite.expectations if each.kind != COLUMN_SET]
    return repr((about, [suite.columns for suite in suites.values()], "topic"))
