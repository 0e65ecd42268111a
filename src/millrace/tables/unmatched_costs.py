"""Costs whose campaign has no visit, each with the campaign of visits that has the nearest name."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

import polars as pl

from lakehouse.access.role import Role
from lakehouse.contracts.costs import CAMPAIGN_COSTS
from lakehouse.contracts.daily import CAMPAIGN_PERFORMANCE
from lakehouse.settings import Settings
from millrace.tables.duckdb_views import table_exists
from millrace.tables.recorded_query import run_recorded

_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")
_SPENT = f"""
    SELECT platform, {", ".join(_CAMPAIGN)}, count(DISTINCT day) AS days, min(day) AS first_day,
        max(day) AS last_day, sum(reporting_cost) AS reporting_cost
    FROM {CAMPAIGN_COSTS.name} GROUP BY ALL
    ORDER BY reporting_cost DESC NULLS LAST, platform, {", ".join(_CAMPAIGN)}
"""
_VISITED = f"SELECT DISTINCT {', '.join(_CAMPAIGN)} FROM {CAMPAIGN_PERFORMANCE.name} WHERE visits > 0"
_NO_RATE = f"""
    SELECT currency, count(DISTINCT day) AS days, sum(cost) AS cost FROM {CAMPAIGN_COSTS.name}
    WHERE cost IS NOT NULL AND reporting_cost IS NULL GROUP BY currency ORDER BY currency
"""
_LEAST_SIMILAR = 0.5

Campaign = tuple[str | None, str | None, str | None]


class CostReport(NamedTuple):
    """What to correct in costs.

    Attributes:
        campaigns: number of campaigns with costs.
        unmatched: those without a visit: platform, campaign, days, first_day, last_day, reporting_cost, and
            nearest_source, nearest_medium and nearest_name, which are null if no name is similar.
        without_rate: currency, days and cost where the rate is missing.
    """

    campaigns: int
    unmatched: pl.DataFrame
    without_rate: pl.DataFrame


def cost_report(settings: Settings, role: Role | None = None) -> CostReport:
    """Compare campaigns of costs with campaigns of visits; no campaigns before the first cost."""
    if not table_exists(settings, CAMPAIGN_COSTS.name):
        return CostReport(0, pl.DataFrame(), pl.DataFrame())
    spent, visited = run_recorded(settings, _SPENT, role), pl.DataFrame(schema=list(_CAMPAIGN))
    if table_exists(settings, CAMPAIGN_PERFORMANCE.name):
        visited = run_recorded(settings, _VISITED, role)
    known: list[Campaign] = visited.rows()
    rows = [row for row in spent.iter_rows(named=True) if tuple(row[name] for name in _CAMPAIGN) not in known]
    nearest = [nearest_campaign(str(row["campaign_name"]), known) for row in rows]
    unmatched = pl.DataFrame(rows, spent.schema).with_columns(
        pl.Series(f"nearest_{part}", [each[place] for each in nearest], pl.String)
        for place, part in enumerate(("source", "medium", "name"))
    )
    return CostReport(len(spent), unmatched, run_recorded(settings, _NO_RATE, role))


def nearest_campaign(name: str, known: Iterable[Campaign]) -> Campaign:
    """The campaign with the most similar name, whatever its case; of equals, the first in order of text."""
    names: dict[str, Campaign] = {}
    for campaign in sorted(known, key=lambda each: [part or "" for part in each]):
        if campaign[2]:
            names.setdefault(campaign[2].casefold(), campaign)
    found = get_close_matches(name.casefold(), list(names), 1, _LEAST_SIMILAR)
    return names[found[0]] if found else (None, None, None)
