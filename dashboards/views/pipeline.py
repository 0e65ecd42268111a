"""Page Pipeline: progress of jobs, duration of micro-batches, size of tables."""

from datetime import datetime, timedelta, timezone
from functools import partial

import collectors
import data_source
import polars as pl
import streamlit as st
import viewer
from charts import time_charts
from metrics import pipeline
from query_scope import Scope
from tables.table_cache import Look
from widgets import layout, page
from widgets.formatting import lasting, plain_text, utc
from widgets.layout import number_column, place_chart, place_table, text_column, time_column

from lakehouse.contracts import TABLES
from lakehouse.timestamps import from_micros, to_micros

_OVER = {"Last hour": timedelta(hours=1), "Day": timedelta(days=1), "Week": timedelta(days=7)}
_AGING = 10  # seconds: so much younger than they are may records that wait be shown
_TABLE = {
    "table": pl.String,
    **dict.fromkeys(("rows", "files", "bytes", "version"), pl.Int64),
    "size": pl.String,
    "changed_at": pl.Datetime("us", "UTC"),
    "writer": pl.String,
    "state": pl.String,
}


def body(look: Look, _: Scope | None) -> None:
    """Show jobs, micro-batches over time, errors, tables."""
    jobs = look.figure(pipeline.jobs)
    if look.sees("ops.ledger"):
        _figures(jobs)
    _jobs(jobs)
    if look.shows("bronze.kafka_records"):
        _stages(look)
    if viewer.sees_everything():
        _collectors()
    over = st.segmented_control(
        "Micro-batches of the last",
        list(_OVER),
        default="Day",
        required=True,
        key="over",
        bind="query-params",
    )
    batches = look.figure(pipeline.batches, _OVER[over])
    cost = partial(
        time_charts.lines,
        x="at",
        y="seconds",
        series="job",
        names=pipeline.job_names(batches),
        heading="Slowest micro-batch",
        unit="seconds",
    )
    late = partial(
        time_charts.lines,
        x="at",
        y="late_share",
        series="job",
        names=["refine"],
        heading="Share of rows that came late",
        unit="share of rows",
        format_=".2~p",
    )
    nothing = layout.why_empty(look, "No micro-batches yet.", "ops.ledger")
    shares = batches.filter(pl.col("job") == "refine").drop_nulls("late_share")
    layout.side_by_side(
        partial(place_chart, batches, cost, nothing), partial(place_chart, shares, late, nothing)
    )
    _errors()
    layout.side_by_side(partial(_ledger, look), partial(_tables, look), widths=(6, 7))


def _figures(jobs: pl.DataFrame) -> None:
    number, share = layout.locale().number, layout.locale().share
    by = {row["job"]: row for row in jobs.to_dicts()}
    refine = by.get("refine", {})
    behind = [row["behind"] for row in by.values() if row["behind"] is not None]
    taken, late = refine.get("input_rows", 0), refine.get("late", 0)
    layout.metrics(
        {
            "Behind": (
                lasting(timedelta(seconds=max(behind))) if behind else "–",
                "How much of what has come in the slowest job has yet to do, in ingest time.",
            ),
            "Records taken in": (
                number(by.get("ingest", {}).get("input_rows", 0)),
                "By ingest, since the start.",
            ),
            "Late": (
                share(late / taken if taken else None, 2),
                "Rows behind the watermark, of those refined.",
            ),
            "Refused": (number(refine.get("rejected", 0)), "Records that are no event."),
            "Copies": (number(refine.get("duplicates", 0)), "Records of an event that was there already."),
        }
    )


def _jobs(jobs: pl.DataFrame) -> None:
    columns = {
        "job": "Job",
        "batches": number_column("Batches"),
        "input_rows": number_column("Rows in"),
        "output_rows": number_column("Rows out"),
        "late": number_column("Late"),
        "behind": number_column("Behind, s", 1, "Of ingest time, the job before it is ahead"),
        "watermark": time_column("Watermark (UTC)"),
        "last_batch": time_column("Last batch began (UTC)"),
    }
    place_table(jobs, columns, "jobs", heading="Jobs", height=layout.fitting(jobs))


def _stages(look: Look) -> None:
    span = look.figure(pipeline.recent_stages)
    if span is None:
        return
    marks = look.marks("gold.traffic", to_micros(span[0]))
    shown = tuple((from_micros(mark), from_micros(written)) for mark, written in marks)
    now = datetime.now(timezone.utc)
    now -= timedelta(seconds=now.timestamp() % _AGING)  # else no viewer would use what another computed
    times = look.figure(pipeline.times_of_stages, span, shown, now)
    if not times.records:
        return
    slowest = times.rows.filter("is_slowest")["stage"].to_list()
    named = times.rows.with_columns(slowest=pl.when("is_slowest").then(pl.lit("slowest")))
    columns = {
        "stage": text_column("Stage", 90),
        "p50": number_column("p50, s", 2),
        "p95": number_column("p95, s", 2),
        "records": number_column("Records"),
        "slowest": "Slowest",
    }
    heading = ": ".join(["Where the time goes", *slowest[:1]])
    place_table(named, columns, "stages", heading=heading, height=layout.fitting(named))
    number = layout.locale().number(times.records)
    st.caption(f"Of {number} records taken in from {utc(times.first)} to {utc(times.last)}.")


def _collectors() -> None:
    sources = collectors.by_source(data_source.home())
    if sources.is_empty():
        return
    columns = {
        "node": "Node",
        "source": "Source",
        "last_minute": number_column("Events in the last minute"),
        "received": number_column("Acknowledged", meaning="Since the log began"),
        "waiting": number_column("Waiting for Kafka"),
        "oldest": time_column("Oldest waiting (UTC)"),
        "shed": number_column(
            "Shed",
            meaning="Set aside under overload or above the topic's limit, until `millrace replay shed`",
        ),
        "refused": number_column("Refused", meaning="Answered with 429: the client has them"),
    }
    place_table(sources, columns, "collectors", heading="Collectors", height=layout.fitting(sources))


def _errors() -> None:
    errors = data_source.last_errors()
    if errors:
        with st.container(border=True):
            st.markdown("**Last errors**")
            for name, words in errors.items():
                st.text(f"{plain_text(name)}: {plain_text(words)}")


def _ledger(look: Look) -> None:
    columns = {
        "started_at": time_column("Began (UTC)"),
        "job": "Job",
        "batch_id": number_column("Batch"),
        "input_rows": number_column("Rows in"),
        "late": number_column("Late"),
        "seconds": number_column("Seconds", 1),
    }
    place_table(look.figure(pipeline.latest_batches), columns, "ledger", heading="Ledger: the latest")


def _tables(look: Look) -> None:
    rows = _versions(look)
    columns = {
        "table": text_column("Table", 150),
        "rows": number_column("Rows"),
        "files": number_column("Files"),
        "size": "Size",
        "version": number_column("Version"),
        "changed_at": time_column("Changed (UTC)"),
        "writer": "Written by",
        "state": text_column("State", 60, "Stale: the job that writes it is far behind ingest"),
    }
    place_table(rows, columns, "tables", heading="Tables")
    st.caption(f"Latest change of a table: {utc(rows['changed_at'].max())}.")


def _versions(look: Look) -> pl.DataFrame:
    """One row for each table of the contracts that is there for the viewer."""
    rows, stale = [], look.figure(pipeline.stale_tables)
    for name, table in TABLES.items():
        facts = look.facts(name) if look.shows(name) else None
        version = look.version(name) if facts else None
        if facts and version:
            size, state = layout.locale().size(facts.size), "stale" if name in stale else ""
            numbers = (facts.rows, facts.files, facts.size, version.number)
            rows.append((name, *numbers, size, facts.changed_at, table.writer, state))
    return pl.DataFrame(rows, _TABLE, orient="row")


page.show_always(body)
