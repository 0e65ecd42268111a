"""Windows and their panes: early, on-time and late (corrected), and the size of corrections."""

from dataclasses import dataclass
from datetime import timedelta

import polars as pl
from period import DAYS, HOURS, MINUTES, SLIDING
from query_scope import Scope
from tables.query import Query
from tables.table_cache import Ask

KINDS = (MINUTES, HOURS, SLIDING, DAYS)
PANES = ("early", "on_time", "late")
MEASURES = ("events", "page_views", "visitors", "sessions", "conversions", "reporting_value")
LONGEST = {MINUTES: timedelta(hours=24), SLIDING: timedelta(hours=48)}  # longest period shown

_KEY = ["window_start", "channel"]
_MOST_CHANGES = 200_000


@dataclass(frozen=True)
class Panes:
    """The windows of a kind in scope.

    Args:
        windows: window_start, pane, events, revision; one row per window and channel.
        corrected: windows changed after their on-time pane: window_start, channel, and for each measure the
            value now, on time (`…_then`), and the difference (`…_change`); newest first.
        on_time: events in the on-time panes of complete windows.
        late: events that came into these windows afterwards.
        other: the difference that is left: bots found later, and rebuilds.
    """

    windows: pl.DataFrame
    corrected: pl.DataFrame
    on_time: int
    late: int
    other: int


def panes(ask: Ask, scope: Scope, kind: str) -> Panes:
    """The windows of a kind now, compared with their on-time panes."""
    columns = ("window_start", "channel", "pane", "revision", *MEASURES)
    now = ask(scope.windows(Query("gold.traffic", columns, order=("window_start",)), kind))
    then = _on_time(ask, scope, kind)
    both = now.join(then, on=_KEY, suffix="_then", nulls_equal=True)
    changes = [(pl.col(name) - pl.col(f"{name}_then")).alias(f"{name}_change") for name in MEASURES]
    compared = both.with_columns(changes)
    changed = pl.any_horizontal(pl.col(f"{name}_change") != 0 for name in MEASURES)
    corrected = compared.filter(changed).sort("window_start", descending=True)
    events_then, change = compared["events_then"].sum(), compared["events_change"].sum()
    late = _late_events(ask, scope, kind)
    windows = now.select("window_start", "pane", "events", "revision")
    return Panes(windows, corrected, events_then, late, change - late)


def _late_events(ask: Ask, scope: Scope, kind: str) -> int:
    """Number of events added by late revisions. A revision that removes events is not by late events."""
    key = [*_KEY, "sequence"]
    query = Query("gold.traffic_changes", (*key, "events"), limit=_MOST_CHANGES)
    new = ask(scope.windows(query.only("change", "=", "replace").only("pane", "=", "late"), kind))
    if new.is_empty():
        return 0
    old = ask(scope.windows(query.only("change", "=", "retract"), kind))
    both = new.join(old, on=key, how="left", suffix="_old", nulls_equal=True)
    added = pl.col("events") - pl.col("events_old").fill_null(0)
    return int(both.select(added.clip(lower_bound=0).sum()).item())


def _on_time(ask: Ask, scope: Scope, kind: str) -> pl.DataFrame:
    """The on-time pane of each window, emitted when the watermark passed its end."""
    columns = ("window_start", "channel", "sequence", *MEASURES)
    query = Query("gold.traffic_changes", columns, order=("sequence",), limit=_MOST_CHANGES)
    query = query.only("change", "=", "replace").only("pane", "=", "on_time")
    said = ask(scope.windows(query, kind))
    return said.unique(_KEY, keep="first", maintain_order=True).select(*_KEY, *MEASURES)
