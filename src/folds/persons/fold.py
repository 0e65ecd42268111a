"""The person fold: computes conversions, attribution and trails from goals and touches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from lakehouse.timestamps import span_micros


@dataclass(frozen=True, slots=True)
class PersonRules:
    """Rules and side inputs of the fold, the same for all groups of a batch.

    Args:
        rates: to the reporting currency.
        orders: which goals reverse an order.
        look_back: maximum microseconds between a touch and its conversion.
        models: parameters of the attribution models.
        views_earn: whether view-through impressions are touches.
        person_level: custom dimensions of which the first touch's value counts.
    """

    rates: ExchangeRates
    orders: OrderRules
    look_back: int
    models: ModelNumbers
    views_earn: bool
    person_level: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        numbers: RuleNumbers,
        rates: ExchangeRates,
        orders: OrderRules,
        person_level: frozenset[str] = frozenset(),
    ) -> "PersonRules":
        """Convert the rule numbers of conf/rules.yml, and the custom dimensions of level `person`."""
        look_back, models = span_micros(numbers.look_back), ModelNumbers.of(numbers)
        return cls(rates, orders, look_back, models, numbers.view_through, person_level)


class PersonRows(NamedTuple):
    """Rows of gold.conversions, gold.attribution and gold.trails; trails are grouped by conversion."""

    conversions: list[ConversionRow]
    attribution: list[AttributionRow]
    trails: Iterable[TrailRow]


def fold_person(
    goals: Iterable[Goal],
    touches: Mapping[str, Iterable[Touch]],
    pages: Iterable[PageView],
    watermark: int,
    rules: PersonRules,
) -> PersonRows:
    """Compute the gold rows of a group of conversions.

    Args:
        goals: all goal events of the conversions and of their orders, in any order. Visitors and persons may
            share an order.
        touches: by person_id, at least those in the look-back of the conversions.
        pages: at least the page views of the conversions' visits.
        watermark: microseconds since 1970.
        rules: of the batch.

    Returns:
        Rows that depend only on goals and touches, not on their grouping or order.
    """
    anchored = anchor_conversions(goals, rules.orders, rules.rates)
    return credit_anchored(anchored, touches, pages, watermark, rules)


def credit_anchored(
    anchored: Sequence[Anchored],
    touches: Mapping[str, Iterable[Touch]],
    pages: Iterable[PageView],
    watermark: int,
    rules: PersonRules,
) -> PersonRows:
    """Compute the gold rows of conversions with known anchors; see `fold_person`."""
    pairs = (each[:2] for each in anchored)
    journeys = build_journeys(pairs, touches, rules.look_back, rules.views_earn)
    credited = [each for each in journeys if each.anchor.may_be_credited]
    rows = PersonRows([], [], Trails(credited, PageViews(pages)))
    for each, journey in zip(anchored, journeys, strict=True):
        rows.conversions.append(to_row(each, journey.touches, watermark, rules.person_level))
        reporting_value = each.amount.reporting_value
        if each.anchor.may_be_credited:
            rows.attribution.extend(credit_touches(journey, reporting_value, rules.models, each.is_counted))
    return rows
