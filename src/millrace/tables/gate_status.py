"""The state of the gate before gold, its results and failures, from the tables of a home or a catalog."""

from dataclasses import dataclass
from datetime import datetime

import narwhals as nw

from lakehouse.contracts import TABLES, Table
from lakehouse.errors import MillraceError
from lakehouse.quality.sql_conditions import ROW_COUNT, is_about_values, scope_sql, violation_sql
from lakehouse.quality.suites import HOURS, Expectation, Suite, load_suites
from lakehouse.rows.duckdb_sql import requoted
from lakehouse.settings import Settings
from millrace.tables.table_scan import Row, query, rows_of, scan

HELD = ("closed", "replayed")
_TEXT = 60  # shown characters of binary values
_SHOWN = 10
_STAMP = "ingested_at"
_IDENTIFYING = frozenset(
    (
        *("event_id", "type", "name", "visitor_id", "promotion_id", "arrival_time"),
        *("topic", "partition", "offset", "first_offset"),
    )
)
"""Columns that identify a row, in addition to key and event time."""


@dataclass(frozen=True)
class Failure:
    """Rows that violate an expectation.

    Args:
        expectation: id of the expectation.
        query: query that finds the rows, for `millrace sql`.
        rows: some of the rows.
    """

    expectation: str
    query: str
    rows: list[Row]


def gate(settings: Settings) -> Row | None:
    """The latest change of the gate; None if it has never been closed."""
    changes = scan(settings, "ops.gates")
    if changes is None:
        return None
    rows = rows_of(changes.sort("sequence", descending=True).head(1))
    return rows[0] if rows else None


def is_held(settings: Settings) -> bool:
    """Whether gold is held."""
    last = gate(settings)
    return last is not None and last["state"] in HELD


def held_error(settings: Settings) -> MillraceError:
    """The error while gold is held."""
    reasons = "; ".join((gate(settings) or {}).get("reasons") or ())
    return MillraceError(
        f"gold is held, since silver is not as expected: {reasons}",
        "See `millrace quality explain`; then `millrace replay` or `millrace release`",
    )


def last_results(settings: Settings) -> list[Row]:
    """The latest result of each expectation; failed ones first."""
    results = scan(settings, "ops.expectations")
    if results is None:
        return []
    last_run = results.group_by("table", "name").agg(nw.col("run_at").max())
    latest = results.join(last_run, on=["table", "name", "run_at"], how="inner")
    one_each = {(row["table"], row["name"]): row for row in rows_of(latest)}
    return sorted(one_each.values(), key=lambda row: (row["success"], row["table"], row["name"]))


def explain(settings: Settings, wanted: str | None = None) -> list[Failure]:
    """Rows that violate expectations, with the queries that find them.

    Args:
        settings: the settings in force.
        wanted: id of an expectation or a part of it. None: all that hold gold, or if it is not held, all that
            failed in the last evaluation.

    Raises:
        MillraceError: if no expectation matches.
    """
    suites = load_suites(settings.conf)
    every = {each.id: each for suite in suites.values() for each in suite.expectations}
    results = {f"{row['table']}: {row['name']}": row for row in last_results(settings)}
    last = gate(settings)
    held = last if last and last["state"] in HELD else None
    names = list(held["reasons"]) if held else [name for name, row in results.items() if not row["success"]]
    if wanted:
        names = [name for name in every if wanted in name]
        if not names:
            raise MillraceError(f"there is no expectation {wanted!r}", "See `millrace quality --all`")
    found = []
    for name in names:
        span = held if held and name in held["reasons"] else results.get(name)
        if name in every and span:
            found.append(_failure(settings, suites[every[name].table], every[name], span))
    return found


def refused(settings: Settings) -> list[Row]:
    """Rejected records by `day` and `reason`: their number (`records`), and `place` and `value` of one."""
    rows = scan(settings, "silver.rejected_events")
    if rows is None:
        return []
    parts = [nw.col("topic"), *(nw.col(name).cast(nw.String) for name in ("partition", "offset"))]
    rejected = rows.select(
        nw.col("arrival_time").dt.date().alias("day"),
        "reason",
        "value",
        nw.concat_str(parts, separator="/").alias("place"),
    )
    by_day = rejected.group_by("day", "reason").agg(nw.len().alias("records"), nw.col("place").max())
    examples = by_day.join(rejected.select("place", "value"), on="place", how="left")
    return rows_of(examples.sort("day", "reason"))


def _failure(settings: Settings, suite: Suite, expectation: Expectation, span: Row) -> Failure:
    sql = _query(suite, expectation, span["after"], span["upto"])
    return Failure(expectation.id, sql, query(settings, sql))


def _query(suite: Suite, expectation: Expectation, after: datetime, upto: datetime) -> str:
    low, high = (f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S.%f}'" for at in (after, upto))
    new = f"{_STAMP} > {low} AND {_STAMP} <= {high}"
    if expectation.of == HOURS:
        return (
            "SELECT date_trunc('hour', event_time) AS hour, count(*) AS events FROM silver.events"
            " GROUP BY hour ORDER BY hour DESC LIMIT 49"
        )
    if expectation.kind == ROW_COUNT or not is_about_values(expectation):
        return f"SELECT * FROM ops.ledger WHERE job = 'refine' ORDER BY batch_id DESC LIMIT {_SHOWN}"
    table = expectation.table
    new = _new_rows(TABLES[table], new)
    computed = "".join(f", {sql} AS {name}" for name, sql in suite.columns.items())
    source = f"SELECT *{computed}, '{table}' AS _table FROM {table} WHERE {new}"
    return requoted(
        f"SELECT {_columns(expectation)} FROM ({source}) WHERE ({scope_sql(expectation)})"
        f" AND {violation_sql(expectation)} LIMIT {_SHOWN}"
    )


def _new_rows(table: Table, new: str) -> str:
    """The condition for new rows, by ingest stamp of the table or of an input with its key; else TRUE."""
    if _STAMP in table.column_names:
        return new
    key = table.key[0]
    for name in table.inputs:
        if {key, _STAMP} <= set(TABLES[name].column_names):
            return f"{key} IN (SELECT {key} FROM {name} WHERE {new})"
    return "TRUE"


def _columns(expectation: Expectation) -> str:
    """The columns that identify a row of the table, and the column of the expectation."""
    table = TABLES[expectation.table]
    shown = {*table.key, table.event_time, *_IDENTIFYING}
    names = [*(name for name in table.column_names if name in shown), expectation.column]
    quoted = [f'"{name}"' for name in dict.fromkeys(names)]
    if expectation.table == "silver.rejected_events":
        quoted.append(f"left(CAST(value AS STRING), {_TEXT}) AS value")
    return ", ".join(quoted)
