"""Renders a snapshot of a workspace as tables for a terminal."""

from collections import Counter
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from millrace.local.status.snapshot import Snapshot

_COLOURS = {
    "running": "green",
    "done": "green",
    "scheduled": "green",
    "failed": "red",
    "backing off": "red",
    "restarting": "red",
}


def render(snapshot: Snapshot) -> RenderableType:
    """Processes, jobs, tables and errors."""
    parts: list[RenderableType] = [_headline(snapshot)]
    if snapshot.processes:
        parts += [Text(), _processes(snapshot)]
    if snapshot.jobs or snapshot.ledger:
        parts += [Text(), _jobs(snapshot)]
    if snapshot.ledger:
        parts += [Text(), _counts(snapshot)]
    if snapshot.stages:
        parts += [Text(), _stages(snapshot)]
    if snapshot.rows:
        parts += [Text(), _tables(snapshot)]
    if bots := snapshot.rows.get("silver.bots"):
        parts.append(Text(f"Silver has the events of {bots:,} bots, gold leaves them out.", style="dim"))
    notes = [f"  {name}: {error}" for name, error in last_errors(snapshot).items()]
    parts += [Text(line, style="red") for line in (["", "Last errors", *notes] if notes else [])]
    parts += [Text(f"({note})", style="dim") for note in snapshot.notes]
    return Group(*parts)


def last_errors(snapshot: Snapshot) -> dict[str, str]:
    """The last error of each process and job, if there was one."""
    known = {**snapshot.processes, **snapshot.jobs}
    return {name: part["last_error"] for name, part in known.items() if part.get("last_error")}


def _headline(snapshot: Snapshot) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_row("Millrace", _coloured(snapshot.state), escape(snapshot.home))
    table.add_row("Kafka", "", snapshot.kafka)
    if snapshot.dashboard:
        table.add_row("Dashboard", "", snapshot.dashboard)
    if snapshot.collector:
        table.add_row("Collector", "", f"{snapshot.collector}/v1/batch")
    if snapshot.api:
        table.add_row("Live page", "", f"{snapshot.api}/live")
    for topic, records in _lag_by_topic(snapshot).items():
        table.add_row("Lag", "", f"{escape(topic)}: {records:,} records not in bronze yet")
    if repair := snapshot.behind.get("repair", {}).get("rows"):
        late, seconds = snapshot.behind["repair"]["late"], snapshot.behind["repair"]["seconds"]
        cells = f"{repair:,} rows refined and not repaired yet, {late:,} of them late, for {seconds:,.0f} s"
        table.add_row("Repair", "", cells)
    if snapshot.watermark is not None:
        table.add_row("Watermark", "", readable(snapshot.watermark))
    return table


def readable(time: datetime | None) -> str:
    """A time, to the second; a dash for none."""
    return f"{time:%Y-%m-%d %H:%M:%S} UTC" if time else "–"


def _lag_by_topic(snapshot: Snapshot) -> dict[str, int]:
    lag: Counter[str] = Counter()
    for partition, records in (snapshot.lag or {}).items():
        lag[partition.rpartition("/")[0]] += records
    return lag


def _processes(snapshot: Snapshot) -> RenderableType:
    table = _table("process", "state", "pid", "since", right=("restarts",))
    for name, process in snapshot.processes.items():
        cells = (process.get("pid") or "", process.get("since", ""), process.get("restarts", 0))
        table.add_row(name, _coloured(process["state"]), *map(str, cells))
    return table


def _jobs(snapshot: Snapshot) -> RenderableType:
    """Jobs with their state and lag; at most 80 characters wide, like all tables here."""
    table = _table("job", "state", right=("rows behind", "oldest", "restarts", "next run"))
    for name in dict.fromkeys((*snapshot.jobs, *snapshot.ledger)):
        job = snapshot.jobs.get(name, {})
        behind = _behind(snapshot.behind.get(name, {}))
        cells = (_number(job.get("restarts")), _minute(job.get("next_run")))
        table.add_row(name, _coloured(job.get("state", "")), *behind, *cells)
    return table


def _counts(snapshot: Snapshot) -> RenderableType:
    """Sums of the ledger: micro-batches and rows by job, over the whole history."""
    heads = {
        "batches": "batches",
        "in": "input_rows",
        "out": "output_rows",
        "copies": "duplicates",
        "rejected": "rejected",
        "late": "late",
    }
    table = _table("rows of", right=tuple(heads))
    for name, sums in snapshot.ledger.items():
        table.add_row(name, *(_number(sums.get(count)) for count in heads.values()))
    return table


def _stages(snapshot: Snapshot) -> RenderableType:
    """Seconds that recent records took in each stage; the slowest is marked."""
    table = _table("seconds in", right=("p50", "p95", "records"))
    table.add_column("", no_wrap=True)
    for row in snapshot.stages:
        seconds = ("" if row[name] is None else f"{row[name]:,.2f}" for name in ("p50", "p95"))
        slowest = Text("slowest", style="yellow") if row["is_slowest"] else ""
        table.add_row(row["stage"], *seconds, _number(row["records"]), slowest)
    return table


def _minute(time: str | None) -> str:
    return f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M}" if time else ""


def _behind(waiting: dict[str, Any]) -> tuple[str, str]:
    """Rows that a job lags behind its upstream job, and how long the oldest has waited."""
    age = f"{waiting['seconds']:,.0f} s" if waiting.get("rows") else ""
    return _number(waiting.get("rows")), age


def _tables(snapshot: Snapshot) -> RenderableType:
    """Rows of each table, and how far it is behind bronze, in ingest time."""
    table = _table("table", right=("rows", "behind"))
    for name, rows in snapshot.rows.items():
        seconds = snapshot.freshness.get(name)
        table.add_row(name, f"{rows:,}", "" if seconds is None else f"{seconds:,.0f} s")
    return table


def _table(*left: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in left:
        table.add_column(name, no_wrap=True)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _coloured(state: str) -> Text:
    return Text(state, style=_COLOURS.get(state, "yellow"))


def _number(value: Any) -> str:
    return "" if value is None else f"{value:,}"
