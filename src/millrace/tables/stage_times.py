"""Times per stage, from a collector to the pages: percentiles over recent records."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import polars as pl

STAGES = ("collector", "Kafka", "bronze", "silver", "gold", "page")
TO_GOLD = "to gold"
"""Name of the row from the collector, or else from Kafka, to gold."""

SPAN = timedelta(hours=1)
MAX_RECORDS = 50_000

LEDGER_COLUMNS = ("job", "position", "started_at", "seconds", "input_rows")
RECORD_COLUMNS = ("topic", "partition", "offset", "timestamp", "headers", "ingested_at")
EVENT_COLUMNS = ("topic", "partition", "offset", "arrival_time")

_PLACE = ["topic", "partition", "offset"]
_NODE = "node"  # header of records that a collector has sent
_INSTANT = pl.Datetime("us", "UTC")


def recent_span(ledger: pl.DataFrame) -> tuple[datetime, datetime] | None:
    """First and last ingest stamp of the latest hour with records; None if there are none.

    Starts later if the hour has more than `MAX_RECORDS` records.

    Args:
        ledger: rows of ops.ledger.
    """
    taken = ledger.filter(pl.col("job") == "ingest", pl.col("input_rows") > 0).sort(
        "position", descending=True
    )
    if taken.is_empty():
        return None
    last: datetime = taken["position"][0]
    recent = taken.filter(
        pl.col("position") >= last - SPAN,
        (pl.col("input_rows").cum_sum() <= MAX_RECORDS) | (pl.int_range(pl.len()) == 0),
    )
    first: datetime = recent["position"].min()  # type: ignore[assignment]
    return first, last


def stage_times(
    ledger: pl.DataFrame,
    records: pl.DataFrame,
    events: pl.DataFrame,
    shown: Sequence[tuple[datetime, datetime]],
    now: datetime,
) -> pl.DataFrame:
    """Seconds that records took in each stage.

    A record that has not left a stage counts with the time that it has waited so far: a hanging job shows.
    The stage collector has the records with a collector's header; page those that a commit of
    gold.traffic has followed.

    Args:
        ledger: rows of ops.ledger.
        records: rows of bronze.kafka_records.
        events: rows of silver.events of these records.
        shown: high-water mark and time of commits to gold.traffic, whose position the pages show.
        now: the current time.

    Returns:
        A row by stage in order, then one `to gold`: `stage`, `records`, `p50`, `p95`, `is_slowest` (by p95).
    """
    times = _with_ends(records.join(events, on=_PLACE, how="left"), ledger, shown)
    waited = pl.lit(now, _INSTANT)
    sent = pl.when(_has_header(_NODE)).then(pl.col("arrival_time"))
    spans = {
        "collector": pl.col("timestamp") - sent,
        "Kafka": pl.col("ingested_at") - pl.col("timestamp"),
        "bronze": pl.col("ingest").fill_null(waited) - pl.col("ingested_at"),
        "silver": pl.col("refine").fill_null(waited) - pl.col("ingest"),
        "gold": pl.col("publish").fill_null(waited) - pl.col("refine"),
        "page": pl.col("shown") - pl.col("publish"),
        TO_GOLD: pl.col("publish").fill_null(waited) - pl.coalesce(sent, "timestamp"),
    }
    seconds = times.select(
        (span.dt.total_microseconds().clip(lower_bound=0) / 1e6).alias(stage) for stage, span in spans.items()
    )
    found = pl.DataFrame(
        {
            "stage": list(spans),
            "records": [seconds[stage].count() for stage in spans],
            **{
                name: [seconds[stage].quantile(share, "nearest") for stage in spans]
                for name, share in (("p50", 0.5), ("p95", 0.95))
            },
        },
        schema_overrides={"p50": pl.Float64, "p95": pl.Float64},
    )
    of_stages = pl.when(pl.col("stage") != TO_GOLD).then(pl.col("p95"))
    return found.with_columns(is_slowest=(of_stages == of_stages.max()).fill_null(value=False))


def _with_ends(
    records: pl.DataFrame, ledger: pl.DataFrame, shown: Sequence[tuple[datetime, datetime]]
) -> pl.DataFrame:
    """Records with the time at which each job was done with them, and a page could show them."""
    end = pl.col("started_at") + pl.duration(microseconds=pl.col("seconds") * 1e6)
    ends = {
        job: ledger.filter(pl.col("job") == job).select("position", end.alias(job))
        for job in ("ingest", "refine", "publish")
    }
    ends["shown"] = pl.DataFrame(shown, {"position": _INSTANT, "shown": _INSTANT}, orient="row")
    times = records.sort("ingested_at")
    for done in ends.values():
        first = done.sort("position").unique("position", keep="first", maintain_order=True)
        times = times.join_asof(first, left_on="ingested_at", right_on="position", strategy="forward").drop(
            "position", strict=False
        )
    return times


def _has_header(name: str) -> pl.Expr:
    keys = pl.col("headers").list.eval(pl.element().struct.field("key"))
    return keys.list.contains(name).fill_null(value=False)
