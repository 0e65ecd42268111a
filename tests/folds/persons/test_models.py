"""How the attribution models split one credit."""

from datetime import timedelta

import pytest

from folds.persons import models
from folds.persons.models import MODELS, ModelInput, ModelNumbers
from folds.rule_numbers import RuleNumbers

DAY = 86_400_000_000  # microseconds
NUMBERS = ModelNumbers.of(RuleNumbers())
D, E, S = "Direct", "Email", "Paid Search"


def model_input(*touches: tuple[str, int]) -> ModelInput:
    return ModelInput([channel for channel, _ in touches], [days * DAY for _, days in touches], NUMBERS)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("touches", [1, 2, 3, 7, 1000])
def test_credits_sum_to_one(model: str, touches: int) -> None:
    shares = models.credits(
        model, ModelInput([E] * touches, [number * DAY // 36 for number in range(touches)], NUMBERS)
    )
    assert len(shares) == touches
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(1, abs=1e-9)


CASES = [
    ("first", model_input((S, 3), (E, 2), (S, 1), (D, 0)), [1, 0, 0, 0]),
    ("last", model_input((S, 3), (E, 2), (S, 1), (D, 0)), [0, 0, 0, 1]),
    ("last_non_direct", model_input((S, 3), (E, 2), (D, 1), (D, 0)), [0, 1, 0, 0]),
    ("last_non_direct", model_input((D, 3), (S, 0)), [0, 1]),
    ("last_non_direct", model_input((D, 3), (D, 2), (D, 0)), [0, 0, 1]),
    ("linear", model_input((S, 3), (E, 2), (S, 1), (D, 0)), [0.25, 0.25, 0.25, 0.25]),
    ("position_based", model_input((S, 0)), [1]),
    ("position_based", model_input((S, 1), (E, 0)), [0.5, 0.5]),
    ("position_based", model_input((S, 2), (E, 1), (D, 0)), [0.4, 0.2, 0.4]),
    ("position_based", model_input((S, 3), (E, 2), (E, 1), (D, 0)), [0.4, 0.1, 0.1, 0.4]),
    ("time_decay", model_input((S, 30)), [1]),
    ("time_decay", model_input((S, 7), (E, 0)), [1 / 3, 2 / 3]),
    ("time_decay", model_input((S, 14), (E, 7), (D, 0)), [1 / 7, 2 / 7, 4 / 7]),
    ("time_decay", model_input((S, 5), (E, 5)), [0.5, 0.5]),
]


@pytest.mark.parametrize(("model", "given", "shares"), CASES)
def test_model_credits_match_hand_worked_shares(model: str, given: ModelInput, shares: list[float]) -> None:
    assert models.credits(model, given) == pytest.approx(shares, abs=1e-12)


def test_model_parameters_come_from_rule_numbers() -> None:
    assert ModelNumbers(7 * DAY, 0.4) == NUMBERS
    numbers = ModelNumbers.of(RuleNumbers(half_life=timedelta(days=1), position_ends=0.25))
    given = ModelInput([S, E, E, D], [2 * DAY, DAY, DAY, 0], numbers)
    assert models.credits("time_decay", given) == pytest.approx([1 / 9, 2 / 9, 2 / 9, 4 / 9], abs=1e-12)
    assert models.credits("position_based", given) == [0.25, 0.25, 0.25, 0.25]


def test_time_decay_weight_halves_per_half_life() -> None:
    """A weight is 2 to the negative age in half-lives; weights are summed from the earliest touch on."""
    ages = [29 * DAY + 1, 10 * DAY + 12_345_678, 7 * DAY, 1, 0]
    weights = [pow(2.0, -age / (7 * DAY)) for age in ages]
    total = weights[0] + weights[1] + weights[2] + weights[3] + weights[4]
    shares = models.credits("time_decay", ModelInput([E] * 5, ages, NUMBERS))
    assert shares == pytest.approx([weight / total for weight in weights], rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_touch_at_maximum_look_back_has_a_weight(model: str) -> None:
    numbers = RuleNumbers(look_back=timedelta(days=1000), half_life=timedelta(days=1))
    given = ModelInput([E], [1000 * DAY], ModelNumbers.of(numbers))
    assert models.credits(model, given) == [1.0]
