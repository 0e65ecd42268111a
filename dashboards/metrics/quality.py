"""Data quality: results of expectations, rows without consent, and rejected records."""

import polars as pl
from query_scope import Scope
from tables.query import Measure, Query
from tables.table_cache import Ask

_RUNS = 60  # latest runs of expectations
_EXAMPLES = 100
_MOST_BYTES = 4000  # shown of a rejected record
_CONSENTS = (
    ("attribution", "gold.touches", "touched_at"),
    ("attribution", "gold.conversions", "converted_at"),
    ("analytics", "gold.conversions", "converted_at"),
)


def history(ask: Ask) -> pl.DataFrame:
    """Results of the latest runs, in order: run_at, table, met, failed."""
    columns = ("run_at", "table", "success")
    counted = ask(Query("ops.expectations", columns, (Measure("count", "count"),)))
    runs = counted.select(pl.col("run_at").unique().sort().tail(_RUNS))
    met, failed = (
        pl.col("count").filter(pl.col("success") == each).sum().alias(name)
        for each, name in ((True, "met"), (False, "failed"))
    )
    kept = counted.join(runs, on="run_at", how="semi")
    return kept.group_by("run_at", "table").agg(met, failed).sort("run_at", "table")


def without_consent(ask: Ask, scope: Scope, unseen: frozenset[str]) -> pl.DataFrame:
    """Rows of the period without consent to a purpose: purpose, of (touches or conversions), share.

    Args:
        ask: reads a table.
        scope: the period.
        unseen: columns that the viewer's role does not see, as `table.column`.
    """
    found = []
    for purpose, table, time in _CONSENTS:
        column = f"has_{purpose}_consent"
        if f"{table}.{column}" not in unseen:
            query = Query(table, (column,), (Measure("count", "count"),))
            counts = dict(ask(scope.within(query, time)).iter_rows())
            if rows := sum(counts.values()):
                found.append((purpose, table.split(".")[1], counts.get(False, 0) / rows))
    return pl.DataFrame(found, {"purpose": pl.String, "of": pl.String, "share": pl.Float64}, orient="row")


def rejected_by_reason(ask: Ask, scope: Scope) -> pl.DataFrame:
    """Rejected records that arrived in the period: reason, records; most first."""
    measures = (Measure("records", "count"),)
    query = Query("silver.rejected_events", ("reason",), measures, order=("-records", "reason"))
    return ask(scope.within(query, "arrival_time"))


def rejected_examples(ask: Ask, scope: Scope, reason: str) -> pl.DataFrame:
    """The latest records rejected for a reason: arrival_time, reason, value as text, Kafka coordinates."""
    columns = ("arrival_time", "reason", "value", "topic", "partition", "offset")
    query = Query("silver.rejected_events", columns, order=("-arrival_time", "-offset"), limit=_EXAMPLES)
    found = ask(scope.within(query.only("reason", "=", reason), "arrival_time"))
    return found.with_columns(pl.col("value").map_elements(_as_text, pl.String, skip_nulls=True))


def _as_text(value: bytes) -> str:
    return value[:_MOST_BYTES].decode("utf-8", "backslashreplace")
