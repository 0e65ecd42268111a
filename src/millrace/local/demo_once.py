"""`millrace demo --once`: sends sample traffic and runs all jobs once."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.table import Table

from lakehouse.contracts.lineage import upstream_jobs
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.local.kafka.broker import running_broker
from millrace.local.kafka.kafka_health import require_kafka


class Stopwatch:
    """Measures durations by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Measure the time of the block."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(time.monotonic() - started, 3)


def catch_up(settings: Settings, events: int) -> dict[str, Any]:
    """Send this number of sample events, unless they were sent before, and run all jobs once.

    Returns:
        rows by table and by topic, conversions without a rate, the ledger's sums by job, seconds by step,
        and `ok` from the audit.

    Raises:
        MillraceError: if a step fails, or the audit finds missing or duplicate records.
    """
    from millrace.commands.run import run_jobs

    watch = Stopwatch()
    with watch.measure("total"), _kafka(settings, watch):
        with watch.measure("produce"):
            _send(settings, events)
        timings = run_jobs(settings, list(upstream_jobs()))
        with watch.measure("audit"):
            _audit(settings)
    return {**_figures(settings), "timings": {**timings, **watch.seconds}, "audit": "ok"}


def print_summary(summary: dict[str, Any], console: Console) -> None:
    """The summary as two small tables."""
    rows = Table("table", box=None, header_style="dim")
    rows.add_column("rows", justify="right")
    for name, count in summary["rows"].items():
        rows.add_row(name, f"{count:,}")
    timings = Table("step", box=None, header_style="dim")
    timings.add_column("seconds", justify="right")
    for name, seconds in summary["timings"].items():
        timings.add_row(name, f"{seconds:.1f}")
    console.print(rows, timings, "Audit ok: every record is accounted for.")


@contextmanager
def _kafka(settings: Settings, watch: Stopwatch) -> Iterator[None]:
    local = None
    if settings.kafka_bootstrap:
        require_kafka(settings)
    else:
        local = running_broker(settings.home, settings.broker_port, settings.broker_security)
    started = time.monotonic()
    with local or nullcontext():
        watch.seconds["broker"] = round(time.monotonic() - started, 3)
        yield


def _send(settings: Settings, events: int) -> None:
    from millrace.clients.produce_sample import Wanted, produce
    from millrace.local.demo_traffic import was_sent

    wanted = Wanted(events=events)
    if was_sent(settings.home, wanted):
        return
    manifest, _ = produce(settings, wanted)
    if manifest.status != "complete":
        raise MillraceError(
            f"stopped after {manifest.records:,} of {events:,} events", "Start it again to send all of them"
        )


def _figures(settings: Settings) -> dict[str, Any]:
    from millrace.tables import table_reader

    return {
        "rows": table_reader.table_rows(settings),
        "topics": table_reader.rows_by_topic(settings),
        "without_rate": table_reader.without_rate(settings),
        "ledger": table_reader.ledger_sums(settings),
    }


def _audit(settings: Settings) -> None:
    from millrace.commands.audit import require_whole

    require_whole(settings)
