"""Rows of silver.campaign_costs: a day's cost by campaign, as billed and in the reporting currency."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from folds.costs.cost_rules import Campaign, CostRules
from folds.costs.loads import CostRecord, current_load
from folds.persons.exchange_rates import ExchangeRates, Rate

_LIMIT = Decimal(10**14)  # decimal(18,4)
_MOST_COUNT = 2**63  # bigint


class CampaignCost(NamedTuple):
    """Row of silver.campaign_costs; times in microseconds since 1970."""

    platform: str
    account: str
    day: date
    campaign_source: str | None
    campaign_medium: str | None
    campaign_name: str
    sent_names: list[str]
    cost: Decimal | None
    currency: str
    reporting_cost: Decimal | None
    rate_valid_from: int | None
    clicks: int | None
    impressions: int | None
    loaded_at: int
    load_id: str
    rules_version: str
    ingested_at: int


class StampedRate(NamedTuple):
    """An exchange rate and the ingest stamp of its record."""

    rate: Rate
    ingested_at: int


class CostFold:
    """Computes the rows of an account's day.

    Args:
        rules: of conf/costs.yml, for the names of campaigns.
        version: of all rules.
        reporting_currency: currency of the result.
    """

    def __init__(self, rules: CostRules, version: str, reporting_currency: str) -> None:
        self._rules = rules
        self._version = version
        self._no_rates = ExchangeRates((), reporting_currency)

    def __call__(self, records: Iterable[CostRecord], rates: Iterable[StampedRate]) -> list[CampaignCost]:
        """Rows of one platform, account and day.

        Args:
            records: all its records, in any order.
            rates: at least those of its currencies at its time.
        """
        stamps = {(rate.currency, rate.valid_from): stamp for rate, stamp in rates}
        known = self._no_rates.with_rates(rate for rate, _ in rates)
        rows: dict[tuple[Campaign, str], list[CostRecord]] = defaultdict(list)
        load = current_load(records)
        for row in load:
            of = self._rules.campaign(row.campaign_source, row.campaign_medium, row.campaign_name)
            rows[of, row.currency].append(row)
        completed_at = max((row.ingested_at for row in load), default=0)
        return [
            self._row(campaign, found, known, stamps, completed_at) for (campaign, _), found in rows.items()
        ]

    def _row(
        self,
        campaign: Campaign,
        rows: list[CostRecord],
        rates: ExchangeRates,
        stamps: dict[tuple[str, int], int],
        completed_at: int,
    ) -> CampaignCost:
        first = rows[0]
        total = sum((row.cost for row in rows), Decimal(0))
        cost = total if abs(total) < _LIMIT else None
        valid_from = rates.valid_from(first.currency, first.at)
        stamp = completed_at if valid_from is None else stamps[first.currency, valid_from]
        return CampaignCost(
            first.platform,
            first.account,
            first.day,
            *campaign,
            sorted({row.campaign_name for row in rows}),
            cost,
            first.currency,
            rates.reporting_value(cost, first.currency, first.at),
            valid_from,
            _sum(row.clicks for row in rows),
            _sum(row.impressions for row in rows),
            first.loaded_at,
            first.load_id,
            self._version,
            max(completed_at, stamp),
        )


def _sum(counts: Iterable[int | None]) -> int | None:
    """The sum of the counts that are there; None without one, or beyond the column's type."""
    known = [count for count in counts if count is not None]
    return total if known and (total := sum(known)) < _MOST_COUNT else None
