"""The fold over persons: goals and touches to conversions, attribution and trails."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from folds.persons.attribution import credit_touches
from folds.persons.conversions import find_anchors, first_goals, to_row
from folds.persons.exchange_rates import ExchangeRates
from folds.persons.journeys import build_journeys
from folds.persons.models import ModelNumbers
from folds.persons.records import AttributionRow, ConversionRow, Goal, Touch, TrailRow
from folds.persons.trails import build_trail
from folds.rule_numbers import RuleNumbers


@dataclass(frozen=True, slots=True)
class PersonRules:
    """Rules and side inputs of the fold, the same for all groups of a batch.

    Args:
        rates: in the reporting currency.
        refunds: goal of a refund -> goal of the order it takes back.
        look_back: microseconds before a conversion that its touches lie in.
        models: rule numbers of the models.
    """

    rates: ExchangeRates
    refunds: Mapping[str, str]
    look_back: int
    models: ModelNumbers

    @classmethod
    def of(cls, numbers: RuleNumbers, rates: ExchangeRates, refunds: Mapping[str, str]) -> "PersonRules":
        """Convert the rule numbers of conf/rules.yml."""
        return cls(rates, refunds, numbers.look_back // timedelta(microseconds=1), ModelNumbers.of(numbers))


class PersonRows(NamedTuple):
    """Rows of gold.conversions, gold.attribution and gold.trails."""

    conversions: list[ConversionRow]
    attribution: list[AttributionRow]
    trails: list[TrailRow]


def fold_person(
    goals: Iterable[Goal], touches: Mapping[str, Iterable[Touch]], watermark: int, rules: PersonRules
) -> PersonRows:
    """Compute what gold says of a group of conversions.

    Args:
        goals: all goal events of some conversions, in any order, and of every order that one of them is of:
            orders may be shared between visitors and persons.
        touches: by person_id, those of the look-back before any of the conversions; more do no harm.
        watermark: microseconds since 1970.
        rules: of the batch.

    Returns:
        The same rows for the same goals and touches, however they are grouped and ordered.
    """
    return credit_anchored(anchor_goals(goals, rules), touches, watermark, rules)


def anchor_goals(goals: Iterable[Goal], rules: PersonRules) -> list[tuple[Goal, Goal]]:
    """Find the conversions that some goals are, each with the one whose person's touches earn or lose it.

    Args:
        goals: as `fold_person` takes them, of whole orders.
        rules: of the batch.
    """
    return find_anchors(first_goals(goals), rules.refunds)


def credit_anchored(
    anchored: Iterable[tuple[Goal, Goal]],
    touches: Mapping[str, Iterable[Touch]],
    watermark: int,
    rules: PersonRules,
) -> PersonRows:
    """Compute what gold says of conversions, given with their anchors; otherwise as `fold_person`."""
    rows = PersonRows([], [], [])
    for journey in build_journeys(anchored, touches, rules.look_back):
        goal = journey.conversion
        reporting_value = rules.rates.reporting_value(goal.value, goal.currency, goal.converted_at)
        rows.conversions.append(to_row(goal, reporting_value, len(journey.touches), watermark))
        rows.attribution.extend(credit_touches(journey, reporting_value, rules.models))
        rows.trails.extend(build_trail(journey))
    return rows
