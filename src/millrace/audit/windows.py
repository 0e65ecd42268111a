"""The audit of windows: recomputes gold.traffic from gold.visitor_minutes."""

from collections.abc import Iterable, Mapping
from typing import Any

from folds.windows.window_rules import STANDARD, from_json, to_json
from lakehouse.rows.duckdb_sql import text_literal
from lakehouse.settings import Settings
from millrace.tables.table_scan import commits, query

_ADDED = ("events", "page_views", "sessions", "impressions", "clicks", "searches", "conversions", "value")
_COMPARED = (*_ADDED, "visitors")


def wrong_windows(settings: Settings) -> set[tuple[Any, ...]]:
    """Windows, by kind, start and channel, whose sums differ from those of their minutes.

    Compares minutes up to the sequence in the last commit's metadata; counts that a trigger holds back are
    included. Windows with lateness `count` are skipped: they stay as published.
    """
    commit = _last_commit(settings)
    if commit is None:
        return set()
    known, rules = int(commit["minutes"]), from_json(commit.get("windows") or to_json(STANDARD))
    revised = {kind: rule for kind, rule in rules.items() if rule.lateness == "revise"}
    tumbling = [kind for kind, rule in revised.items() if rule.size and rule.slide in (None, rule.size)]
    held = " + coalesce(kept.held.{0}, 0)" if any(rule.trigger for rule in revised.values()) else ""
    sums = ", ".join(f"sum({name}) AS {name}" for name in _ADDED)
    different = " OR ".join(
        f"kept.{name}{held.format(name)} IS DISTINCT FROM made.{name}" for name in _COMPARED
    )
    rows = query(
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
            SELECT window_kind, any_value(whole.events) - sum(kept.events{held.format("events")}) AS events
            FROM gold.traffic AS kept, whole
            WHERE channel IS NULL AND window_kind IN {_listed(tumbling)} GROUP BY window_kind
        )
        SELECT kept.window_kind, kept.window_start, kept.channel FROM gold.traffic AS kept
        LEFT JOIN made ON kept.window_kind = made.window_kind AND kept.window_start = made.window_start
            AND kept.channel IS NOT DISTINCT FROM made.channel
        WHERE kept.window_kind IN {_listed(revised)} AND ({different})
        UNION ALL
        SELECT window_kind, NULL, events || ' events in none' FROM missing WHERE events <> 0
        """,
    )
    return {tuple(row.values()) for row in rows}


def _listed(kinds: Iterable[str]) -> str:
    return f"({', '.join(map(text_literal, kinds))})"


def _last_commit(settings: Settings) -> Mapping[str, Any] | None:
    """Metadata of the last commit that changed windows: their high-water mark and rules."""
    of_traffic = (metadata for _, metadata in commits(settings, "gold.traffic"))
    return next((metadata for metadata in of_traffic if "minutes" in metadata), None)
