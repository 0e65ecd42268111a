"""Costs of the shop's campaigns, as three ad platforms report them: a pure function of seed and days."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from hashlib import sha256
from random import Random

from millrace.clients.costs.cost_file import CostFile, CostRow
from millrace.clients.costs.cost_messages import cost_records
from millrace.clients.record import Record

_CAMPAIGNS = {  # platform: currency, and cost of a day by source, medium and name
    "google-ads": ("EUR", {("google", "cpc", "brand"): 120, ("google", "cpc", "spring-sale"): 210}),
    "microsoft-ads": ("USD", {("bing", "cpc", "brand"): 45}),
    "meta-ads": (
        "GBP",
        {
            ("facebook", "paid_social", "lamp-week"): 130,
            ("instagram", "paid_social", "new-linen"): 90,
            (
                "facebook",
                "paid_social",
                "lamp-weeks",
            ): 15,  # no visit has this name: `millrace costs` lists it
        },
    ),
}
_CORRECTED = "google-ads"
_CLICK = 0.6  # of a currency's unit


def daily_costs(seed: int, first: datetime, last: datetime) -> Iterator[Record]:
    """The costs of each platform on each day, in one load the day after the last.

    Args:
        seed: the same seed gives the same costs.
        first: approximate time of the first event.
        last: approximate time of the last event.
    """
    days = [first.date() + timedelta(days=number) for number in range((last.date() - first.date()).days + 1)]
    for platform in _CAMPAIGNS:
        yield from _load(platform, days, seed, _loaded_at(days, 1))


def corrected_costs(seed: int, first: datetime) -> Iterator[Record]:
    """The first day of one platform again, with other figures: a later load, which counts."""
    days = [first.date()]
    yield from _load(_CORRECTED, days, seed + 1, _loaded_at(days, 400))


def _loaded_at(days: Sequence[date], after: int) -> datetime:
    return datetime.combine(days[-1] + timedelta(days=after), time(6), timezone.utc)


def _load(platform: str, days: Sequence[date], seed: int, loaded_at: datetime) -> Iterator[Record]:
    rows = [row for day in days for row in _rows(platform, day, seed)]
    load_id = sha256(repr(rows).encode()).hexdigest()[:32]
    return cost_records(CostFile(platform, rows, 0, load_id), loaded_at)


def _rows(platform: str, day: date, seed: int) -> Iterator[CostRow]:
    currency, campaigns = _CAMPAIGNS[platform]
    for number, ((source, medium, name), usual) in enumerate(campaigns.items(), 1):
        chance = Random(f"{seed} {platform} {name} {day}")
        cost = round(Decimal(usual * chance.uniform(0.8, 1.2)), 2)
        clicks = int(float(cost) / _CLICK)
        yield CostRow(
            line=number,
            account="shop",
            day=day,
            campaign_source=source,
            campaign_medium=medium,
            campaign_name=name,
            ad_group=None,
            cost=cost,
            currency=currency,
            clicks=clicks,
            impressions=clicks * chance.randint(20, 60),
        )
