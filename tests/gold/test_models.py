"""How the models share one credit: worked by hand."""

from datetime import timedelta

import pytest

from gold.rules import models
from gold.rules.models import HALF_LIFE, MODELS, Touch

DAY = timedelta(days=1)
D, E, S = "Direct", "Email", "Paid Search"


def touched(*touches: tuple[str, int]) -> list[Touch]:
    return [Touch(channel, days * DAY) for channel, days in touches]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("touches", [1, 2, 3, 7, 1000])
def test_credits_sum_to_one(model: str, touches: int) -> None:
    shares = models.credits(model, [Touch(E, number * timedelta(minutes=40)) for number in range(touches)])
    assert len(shares) == touches
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(1, abs=1e-9)


CASES = [
    ("first", touched((S, 3), (E, 2), (S, 1), (D, 0)), [1, 0, 0, 0]),
    ("last", touched((S, 3), (E, 2), (S, 1), (D, 0)), [0, 0, 0, 1]),
    ("last_non_direct", touched((S, 3), (E, 2), (D, 1), (D, 0)), [0, 1, 0, 0]),
    ("last_non_direct", touched((D, 3), (S, 0)), [0, 1]),
    ("last_non_direct", touched((D, 3), (D, 2), (D, 0)), [0, 0, 1]),
    ("linear", touched((S, 3), (E, 2), (S, 1), (D, 0)), [0.25, 0.25, 0.25, 0.25]),
    ("position_based", touched((S, 0)), [1]),
    ("position_based", touched((S, 1), (E, 0)), [0.5, 0.5]),
    ("position_based", touched((S, 2), (E, 1), (D, 0)), [0.4, 0.2, 0.4]),
    ("position_based", touched((S, 3), (E, 2), (E, 1), (D, 0)), [0.4, 0.1, 0.1, 0.4]),
    ("time_decay", touched((S, 30)), [1]),
    ("time_decay", touched((S, 7), (E, 0)), [1 / 3, 2 / 3]),
    ("time_decay", touched((S, 14), (E, 7), (D, 0)), [1 / 7, 2 / 7, 4 / 7]),
    ("time_decay", touched((S, 5), (E, 5)), [0.5, 0.5]),
]


@pytest.mark.parametrize(("model", "touches", "shares"), CASES)
def test_by_hand(model: str, touches: list[Touch], shares: list[float]) -> None:
    assert models.credits(model, touches) == pytest.approx(shares, abs=1e-12)


def test_the_half_life_is_a_week() -> None:
    assert timedelta(days=7) == HALF_LIFE
