"""Generated tables of a large shop for one year, as the pages read them; created with polars."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone

import numpy as np
import polars as pl

END = datetime(2026, 3, 1, tzinfo=timezone.utc)
DAYS = 365
MODELS = ("first", "last", "last_non_direct", "linear", "position_based", "time_decay")
CHANNELS = ("Direct", "Organic Search", "Paid Search", "Organic Social", "Paid Social", "Email", "Display",
            "Affiliates", "Referral")  # fmt: skip
_START = END - timedelta(days=DAYS)
_TOUCHES = 2.8  # touches per conversion, on average
_PIECES = 73  # pieces of a table of windows, because the table may not fit into memory
_PIECE = timedelta(days=DAYS) / _PIECES
_KINDS = (
    ("1 minute", timedelta(minutes=1), timedelta(minutes=1)),
    ("1 hour", timedelta(hours=1), timedelta(hours=1)),
    ("1 day", timedelta(days=1), timedelta(days=1)),
    ("1 hour every 5 minutes", timedelta(minutes=5), timedelta(hours=1)),
)


def tables_of_a_year(attribution_rows: int, sessions: int) -> Iterator[tuple[str, Iterable[pl.DataFrame]]]:
    """All tables: the name, and the rows in pieces in order of time.

    Args:
        attribution_rows: approximate number of rows of gold.attribution.
        sessions: sessions of the year, counted in windows. silver.sessions has the last 30 days.
    """
    yield from _earned(np.random.default_rng(7), int(attribution_rows / _TOUCHES / len(MODELS)))
    pieces = range(_PIECES)
    yield "gold.traffic", (_windows(piece, sessions) for piece in pieces)
    yield "silver.sessions", [_sessions(np.random.default_rng(8), sessions * 30 // DAYS)]
    yield from _by_day(np.random.default_rng(9))
    yield "ops.ledger", [_ledger(np.random.default_rng(10))]


def _earned(chance: np.random.Generator, count: int) -> Iterator[tuple[str, list[pl.DataFrame]]]:
    """Conversions with their touches, trails and credit."""
    touches = np.minimum(1 + chance.poisson(_TOUCHES - 1, count), 12)
    conversions = pl.DataFrame(
        {
            "number": np.arange(count),
            "converted_at": _times(chance, _START, timedelta(days=DAYS), count),
            "touches": touches.astype(np.int64),
            "reporting_value": np.round(chance.lognormal(4, 0.6, count), 2),
        }
    ).with_columns(
        conversion_id=pl.col("number").hash(7).cast(pl.String),
        order_id=pl.format("o-{}", "number"),
        event_id=pl.format("e-{}", "number"),
        person_id=pl.format("u-{}", (pl.col("number") % 9000)),
        goal=pl.lit("Order Completed"),
        currency=pl.lit("EUR"),
        value=pl.col("reporting_value"),
        is_final=pl.lit(value=True),
    )
    yield "gold.conversions", [conversions]
    path = _touched(chance, conversions)
    yield "gold.touches", [path.sort("touched_at")]
    credit = path.with_columns(credited_value="credited", credited_reporting_value="credited")
    by_model = pl.concat(credit.with_columns(model=pl.lit(model)) for model in MODELS)
    yield "gold.attribution", [by_model.sort("converted_at")]
    goal = {"step": pl.lit(1), "kind": pl.lit("goal"), "at": pl.col("converted_at")}
    yield "gold.trails", [conversions.select("conversion_id", "converted_at", "event_id", **goal)]


def _touched(chance: np.random.Generator, conversions: pl.DataFrame) -> pl.DataFrame:
    """One row per conversion and touch."""
    path = conversions.select("number", "conversion_id", "converted_at", "touches", "reporting_value")
    path = path.with_columns(position=pl.int_ranges(1, pl.col("touches") + 1)).explode("position")
    rows = path.height
    names = [None if each > 29 else f"campaign {each}" for each in chance.integers(0, 40, rows)]
    return path.with_columns(
        touch_id=pl.format("t-{}-{}", "number", "position"),
        touched_at=pl.col("converted_at") - pl.duration(hours=pl.Series(chance.integers(0, 700, rows))),
        channel=pl.Series(np.array(CHANNELS)[chance.integers(0, len(CHANNELS), rows)]),
        campaign_name=pl.Series(names, dtype=pl.String),
        kind=pl.lit("visit"),
        credit=1 / pl.col("touches"),
        credited=pl.col("reporting_value") / pl.col("touches"),
    )


def _windows(piece: int, sessions: int) -> pl.DataFrame:
    """The windows of all kinds that start in five days, in order of time."""
    chance = np.random.default_rng([7, piece])
    start = _START + piece * _PIECE
    parts = [_windows_of(chance, start, kind, step, width, sessions) for kind, step, width in _KINDS]
    return pl.concat(parts).sort("window_start", "window_kind", maintain_order=True)


def _windows_of(
    chance: np.random.Generator, start: datetime, kind: str, step: timedelta, width: timedelta, sessions: int
) -> pl.DataFrame:
    starts = pl.datetime_range(
        start, start + _PIECE, step, closed="left", time_unit="us", time_zone="UTC", eager=True
    )
    times = pl.DataFrame({"window_start": starts}).with_columns(window_end=pl.col("window_start") + width)
    names = pl.DataFrame({"channel": [None, *CHANNELS]}, schema={"channel": pl.String})
    rows = times.join(names, how="cross")
    a_window = sessions / DAYS * (width / timedelta(days=1))
    share = pl.when(pl.col("channel").is_null()).then(1.0).otherwise(1 / len(CHANNELS))
    many = chance.poisson(a_window, rows.height)
    counted = rows.with_columns((pl.Series(many) * share).ceil().cast(pl.Int64).alias("sessions"))
    return counted.with_columns(
        window_kind=pl.lit(kind),
        events=pl.col("sessions") * 9,
        page_views=pl.col("sessions") * 5,
        visitors=pl.col("sessions"),
        impressions=pl.col("sessions") * 2,
        clicks=pl.col("sessions") // 4,
        searches=pl.col("sessions") // 2,
        conversions=pl.col("sessions") // 100,
        reporting_value=(pl.col("sessions") // 100 * 55).cast(pl.Float64),
        pane=pl.when(pl.col("sessions") % 20 == 0).then(pl.lit("late")).otherwise(pl.lit("on_time")),
        revision=pl.lit(2, pl.Int32),
        is_complete=pl.lit(value=True),
    )


def _sessions(chance: np.random.Generator, count: int) -> pl.DataFrame:
    length = timedelta(days=30)
    return pl.DataFrame(
        {
            "started_at": _times(chance, END - length, length, count),
            "visitor_id": chance.integers(0, 10**7, count).astype(str),
            "page_views": chance.integers(1, 12, count),
            "entry_url": [f"https://shop.example/p/{page}" for page in chance.zipf(1.5, count) % 3000],
            "exit_url": [f"https://shop.example/p/{page}" for page in chance.zipf(1.5, count) % 3000],
            "channel": np.array(CHANNELS)[chance.integers(0, len(CHANNELS), count)],
            "is_open": np.zeros(count, bool),
        }
    )


def _by_day(chance: np.random.Generator) -> Iterator[tuple[str, list[pl.DataFrame]]]:
    days = pl.DataFrame({"day": pl.date_range(_START.date(), END.date(), eager=True)})
    names = pl.DataFrame({"campaign_name": [f"campaign {each}" for each in range(40)]})
    rows = days.join(names, how="cross").join(pl.DataFrame({"model": MODELS}), how="cross")
    yield (
        "gold.campaign_performance",
        [
            rows.with_columns(
                impressions=900, clicks=70, visits=60, conversions=1.5, credited_reporting_value=88.25
            )
        ],
    )
    queries = days.join(pl.DataFrame({"query": [f"words {each}" for each in range(300)]}), how="cross")
    yield "gold.search_performance", [queries.with_columns(searches=9, clicked_searches=4)]
    steps = pl.DataFrame({"step": ["impression", "click", "visit", "search", "order"]})
    yield "gold.funnel", [days.join(steps, how="cross").with_columns(visitors=500)]
    looks = pl.DataFrame({"number": range(400)})
    reported = looks.select(
        run_id=pl.format("run-{}", "number"),
        table=pl.lit("silver.events"),
        expectation=pl.lit("expect_column_values_to_not_be_null"),
        success=pl.lit(value=True),
        severity=pl.lit("stop"),
        run_at=pl.lit(_START) + pl.duration(hours=pl.col("number") * 20),
    )
    yield "ops.expectations", [reported]
    refused = pl.DataFrame({"arrival_time": _times(chance, _START, timedelta(days=DAYS), 30_000)})
    yield "silver.rejected_events", [refused.with_columns(reason=pl.lit("not_json"), value=pl.lit(b"{"))]
    yield "silver.events", [pl.DataFrame({"event_id": ["e"], "event_time": [END]})]


def _ledger(chance: np.random.Generator) -> pl.DataFrame:
    """A micro-batch of four jobs every twenty minutes, and every five seconds on the last day."""
    far = pl.datetime_range(
        _START, END - timedelta(days=1), "20m", time_unit="us", time_zone="UTC", eager=True
    )
    near = pl.datetime_range(END - timedelta(days=1), END, "5s", time_unit="us", time_zone="UTC", eager=True)
    times = pl.DataFrame({"started_at": pl.concat([far, near])}).with_row_index("batch_id")
    jobs = pl.DataFrame({"job": ["ingest", "refine", "repair", "publish"]})
    rows = times.join(jobs, how="cross")
    return rows.with_columns(
        input_rows=900, output_rows=880, late=3, duplicates=4, rejected=1,
        seconds=pl.Series(chance.uniform(0.5, 4, rows.height)), watermark="started_at", position="started_at",
    )  # fmt: skip


def _times(chance: np.random.Generator, start: datetime, length: timedelta, count: int) -> pl.Series:
    micros = np.sort(chance.integers(0, int(length.total_seconds() * 1e6), count))
    return (
        pl.Series(int(start.timestamp() * 1e6) + micros).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    )
