"""The fold over persons: goals and touches to conversions, attribution and trails."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from folds.persons.attribution import credit_touches
from folds.persons.conversions import Anchored, anchor_conversions, to_row
from folds.persons.exchange_rates import ExchangeRates
from folds.persons.journeys import build_journeys
from folds.persons.models import ModelNumbers
from folds.persons.page_views import PageViews
from folds.persons.records import AttributionRow, ConversionRow, Goal, PageView, Touch, TrailRow
from folds.persons.refunds import OrderRules
from folds.persons.trails import Trails
from folds.rule_numbers import RuleNumbers


@dataclass(frozen=True, slots=True)
class PersonRules:
    """Rules and side inputs of the fold, the same for all groups of a batch.

    Args:
        rates: in the reporting currency.
        orders: which goals reverse an order.
        look_back: microseconds before a conversion that its touches lie in.
        models: rule numbers of the models.
        views_earn: whether impressions that visits are view-throughs of are touches.
    """

    rates: ExchangeRates
    orders: OrderRules
    look_back: int
    models: ModelNumbers
    views_earn: bool

    @classmethod
    def of(cls, numbers: RuleNumbers, rates: ExchangeRates, orders: OrderRules) -> "PersonRules":
        """Convert the rule numbers of conf/rules.yml."""
        look_back = numbers.look_back // timedelta(microseconds=1)
        return cls(rates, orders, look_back, ModelNumbers.of(numbers), numbers.view_through)


class PersonRows(NamedTuple):
    """Rows of gold.conversions, gold.attribution and gold.trails, the latter conversion by conversion."""

    conversions: list[ConversionRow]
    attribution: list[AttributionRow]
    trails: Iterable[TrailRow]


def fold_person(
    goals: Iterable[Goal],
    touches: Mapping[str, Iterable[Touch]],
    pages: Mapping[str, Iterable[PageView]],
    watermark: int,
    rules: PersonRules,
) -> PersonRows:
    """Compute what gold says of a group of conversions.

    Args:
        goals: all goal events of some conversions, in any order, and of every order that one of them is of:
            orders may be shared between visitors and persons.
        touches: by person_id, those of the look-back before any of the conversions; more do no harm.
        pages: by visitor_id, page views of the visits that the conversions came in; more do no harm.
        watermark: microseconds since 1970.
        rules: of the batch.

    Returns:
        The same rows for the same goals and touches, however they are grouped and ordered.
    """
    anchored = anchor_conversions(goals, rules.orders, rules.rates)
    return credit_anchored(anchored, touches, pages, watermark, rules)


def credit_anchored(
    anchored: Sequence[Anchored],
    touches: Mapping[str, Iterable[Touch]],
    pages: Mapping[str, Iterable[PageView]],
    watermark: int,
    rules: PersonRules,
) -> PersonRows:
    """Compute what gold says of conversions, given with their anchors; otherwise as `fold_person`."""
    pairs = (each[:2] for each in anchored)
    journeys = build_journeys(pairs, touches, rules.look_back, rules.views_earn)
    rows = PersonRows([], [], Trails(journeys, PageViews(pages)))
    for each, journey in zip(anchored, journeys, strict=True):
        rows.conversions.append(to_row(each, len(journey.touches), watermark))
        reporting_value = each.amount.reporting_value
        rows.attribution.extend(credit_touches(journey, reporting_value, rules.models, each.is_counted))
    return rows
