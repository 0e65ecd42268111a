"""Windows and their panes: early, on-time and late (corrected), and the size of corrections."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl
from period import DAYS, HOURS, MINUTES, SLIDING
from query_scope import Scope
from schema import CHANGING, CORRECTIONS
from tables.query import Measure, Query
from tables.table_cache import Ask

KINDS = (MINUTES, HOURS, SLIDING, DAYS)
PANES = ("early", "on_time", "late")
MEASURES = CHANGING[1:]
LONGEST = {MINUTES: timedelta(hours=24), SLIDING: timedelta(hours=48)}  # longest period shown

_KEY = ["window_start", "channel"]


@dataclass(frozen=True)
class Panes:
    """The windows of a kind in scope.

    Args:
        windows: window_start, pane, events, revision; one row per window and channel.
        corrected: windows changed after their on-time pane: window_start, channel, and for each measure the
            value now, on time (`…_then`), and the difference (`…_change`); newest first.
        revised: windows that got late events, as they are now: window_start, channel, revision, late_events
            (those left out of the measures), measures; newest first.
        on_time: events in the on-time panes of complete windows.
        late: events that came into complete windows.
        compared: those of them in windows whose on-time pane is known.
        other: the difference that is left: bots found later, and rebuilds.
        since: from when on changes are known; None: no changes are known, so the others say nothing.
    """

    windows: pl.DataFrame
    corrected: pl.DataFrame
    revised: pl.DataFrame
    on_time: int
    late: int
    compared: int
    other: int
    since: datetime | None

    @property
    def late_rate(self) -> float | None:
        """Late events per event that was on time; None if no on-time pane is known."""
        return self.compared / self.on_time if self.on_time else None


def panes(ask: Ask, scope: Scope, kind: str) -> Panes:
    """The windows of a kind now, compared with their on-time panes."""
    columns = ("window_start", "channel", "pane", "revision", "late_events", *MEASURES)
    now = ask(scope.windows(Query("gold.traffic", columns, order=("window_start",)), kind))
    since = ask(Query(CORRECTIONS, measures=(Measure("since", "min", "commit_timestamp"),)))["since"][0]
    changes = _changes(ask, scope, kind)
    both = now.join(_on_time(now, changes), on=_KEY, suffix="_then", nulls_equal=True)
    differences = [(pl.col(name) - pl.col(f"{name}_then")).alias(f"{name}_change") for name in MEASURES]
    compared = both.with_columns(differences)
    changed = pl.any_horizontal(pl.col(f"{name}_change") != 0 for name in MEASURES)
    corrected = compared.filter(changed).sort("window_start", descending=True)
    events_then, change = compared["events_then"].sum(), compared["events_change"].sum()
    compared_late = _late_events(_from_on_time(changes))
    windows = now.select("window_start", "pane", "events", "revision")
    got_late = (pl.col("pane") == "late") | (pl.col("late_events") > 0)
    revised = now.filter(got_late).sort("window_start", descending=True)
    return Panes(
        windows=windows,
        corrected=corrected,
        revised=revised,
        on_time=events_then,
        late=_late_events(changes),
        compared=compared_late,
        other=change - compared_late,
        since=since,
    )


def _changes(ask: Ask, scope: Scope, kind: str) -> pl.DataFrame:
    """Changes of windows that were complete, in order."""
    columns = ("window_start", "channel", *CHANGING, *(f"{name}_before" for name in CHANGING))
    query = Query(CORRECTIONS, columns, order=("commit_version",))
    return ask(scope.windows(query, kind))


def _from_on_time(changes: pl.DataFrame) -> pl.DataFrame:
    """The changes of windows whose first known change is that of their on-time pane, in order."""
    first = changes.unique(_KEY, keep="first", maintain_order=True).filter(pl.col("pane_before") == "on_time")
    return changes.join(first, on=_KEY, how="semi", nulls_equal=True, maintain_order="left")


def _on_time(now: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """The on-time pane of each window: before its first change, or now if it has none.

    A window whose first known change is a later one is left out.
    """
    first = _from_on_time(changes).unique(_KEY, keep="first", maintain_order=True)
    before = first.select(*_KEY, *(pl.col(f"{name}_before").alias(name) for name in MEASURES))
    unchanged = now.filter(pl.col("pane") == "on_time").join(changes, on=_KEY, how="anti", nulls_equal=True)
    return pl.concat([before, unchanged.select(*_KEY, *MEASURES)])


def _late_events(changes: pl.DataFrame) -> int:
    """Number of events added by late revisions. A revision that removes events is not by late events."""
    late = changes.filter(pl.col("pane") == "late")
    return int((late["events"] - late["events_before"]).clip(lower_bound=0).sum())
