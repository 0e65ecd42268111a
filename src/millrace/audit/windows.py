"""The audit of windows: gold.traffic, recomputed from gold.visitor_minutes by DuckDB."""

import json
from typing import Any

from lakehouse.settings import Settings
from millrace.tables.duckdb_views import run_query
from millrace.tables.table_reader import open_table

_ADDED = ("events", "page_views", "sessions", "impressions", "clicks", "searches", "conversions", "value")
_COMPARED = (*_ADDED, "visitors")
_RECENT = 200  # commits looked through


def wrong_windows(settings: Settings) -> set[tuple[Any, ...]]:
    """Windows, by kind, start and channel, whose sums are not those of the minutes in them.

    Minutes that are not in the windows yet are left out: the commit says how far these have come.
    """
    known = _known_minutes(settings)
    if known is None:
        return set()
    sums = ", ".join(f"sum({name}) AS {name}" for name in _ADDED)
    different = " OR ".join(f"kept.{name} IS DISTINCT FROM made.{name}" for name in _COMPARED)
    rows = run_query(
        settings,
        f"""
        WITH minutes AS (
            SELECT visitor_id, minute, channel, {sums} FROM gold.visitor_minutes
            WHERE visitor_id IS NOT NULL AND sequence <= {known} GROUP BY ALL
        ), inside AS (
            SELECT window_kind, window_start, minute
            FROM (SELECT DISTINCT window_kind, window_start, window_end FROM gold.traffic)
            JOIN (SELECT DISTINCT minute FROM minutes) ON minute >= window_start AND minute < window_end
        ), by_visitor AS (
            SELECT window_kind, window_start, channel, visitor_id, {sums}
            FROM inside JOIN minutes USING (minute) WHERE channel IS NOT NULL GROUP BY ALL
            UNION ALL
            SELECT window_kind, window_start, NULL, visitor_id, {sums}
            FROM inside JOIN minutes USING (minute) GROUP BY window_kind, window_start, visitor_id
        ), made AS (
            SELECT window_kind, window_start, channel, {sums}, count_if(events > 0) AS visitors
            FROM by_visitor GROUP BY ALL
        ), whole AS (
            SELECT sum(events) AS events FROM minutes
        ), missing AS (
            SELECT window_kind, any_value(whole.events) - sum(kept.events) AS events
            FROM gold.traffic AS kept, whole
            WHERE channel IS NULL AND window_kind IN ('1 minute', '1 hour', '1 day') GROUP BY window_kind
        )
        SELECT kept.window_kind, kept.window_start, kept.channel FROM gold.traffic AS kept
        LEFT JOIN made ON kept.window_kind = made.window_kind AND kept.window_start = made.window_start
            AND kept.channel IS NOT DISTINCT FROM made.channel
        WHERE {different}
        UNION ALL
        SELECT window_kind, NULL, events || ' events in none' FROM missing WHERE events <> 0
        """,
    )
    return set(rows.iter_rows())


def _known_minutes(settings: Settings) -> int | None:
    """The sequence of gold.visitor_minutes that windows have been computed up to; None if none has."""
    table = open_table(settings, "gold.traffic_changes")
    for commit in table.history(_RECENT) if table else ():
        told = json.loads(commit.get("userMetadata") or "{}")
        if "minutes" in told:
            return int(told["minutes"])
    return None
