"""Polls a workspace without blocking Ctrl-C."""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from lakehouse.settings import Settings
from millrace.local.status.render import render
from millrace.local.status.snapshot import Snapshot, take_snapshot
from millrace.local.status.table_figures import TableFigures

_LOOK_SECONDS = 2.0
_TICK_SECONDS = 0.25
_RATE_OVER = 15
"""Number of polls over which the rate is computed."""

INGESTED = "bronze.kafka_records"


class StatusPoller:
    """Takes snapshots on a thread, since reading may be slow or hang."""

    def __init__(self, settings: Settings, lag: bool) -> None:
        self.latest: Snapshot | None = None
        self._lag = lag
        self._settings = settings
        self._figures = TableFigures(settings)
        self._counts: deque[tuple[float, int]] = deque(maxlen=_RATE_OVER)
        threading.Thread(target=self._look, name="watcher", daemon=True).start()

    @property
    def rate(self) -> float:
        """Records per second that recently arrived in bronze."""
        counts = list(self._counts)
        if len(counts) < 2:
            return 0.0
        (started, before), (ended, after) = counts[0], counts[-1]
        return max(after - before, 0) / (ended - started)

    def _look(self) -> None:
        while True:
            # Tables may change while they are read; the next poll tries again.
            with suppress(Exception, KeyboardInterrupt):  # polars raises the latter in any thread on Ctrl-C
                self.latest = take_snapshot(self._settings, self._lag, self._figures)
                self._counts.append((time.monotonic(), self.latest.rows.get(INGESTED, 0)))
            time.sleep(_LOOK_SECONDS)


def watch(
    settings: Settings,
    is_running: Callable[[], bool],
    draw: Callable[[StatusPoller], RenderableType] | None = None,
    lag: bool = True,
) -> None:
    """Show a live view while `is_running` is true.

    Args:
        settings: the settings in force.
        is_running: called several times a second.
        draw: renders the view; by default everything. Without a terminal, nothing is shown.
        lag: whether the view needs the lag of bronze behind Kafka.
    """
    listener, console, shown = StatusPoller(settings, lag), Console(), None
    with Live(console=console, auto_refresh=False) as live:
        while is_running():
            if console.is_terminal and listener.latest is not shown:
                shown = listener.latest
                live.update((draw or _everything)(listener), refresh=True)
            time.sleep(_TICK_SECONDS)


def _everything(listener: StatusPoller) -> RenderableType:
    if listener.latest is None:
        return Text("…")
    arriving = Text(f"{listener.rate:,.0f} records/s arriving; Ctrl-C ends this view", style="dim")
    return Group(render(listener.latest), Text(), arriving)
