"""How the models share one credit."""

import pytest

from gold.rules import models


@pytest.mark.parametrize("model", models.MODELS)
@pytest.mark.parametrize("touches", [1, 2, 3, 7, 1000])
def test_credits_sum_to_one(model: str, touches: int) -> None:
    shares = models.credits(model, touches)
    assert len(shares) == touches
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("model", "shares"),
    [("first", [1, 0, 0, 0]), ("last", [0, 0, 0, 1]), ("linear", [0.25, 0.25, 0.25, 0.25])],
)
def test_four_touches(model: str, shares: list[float]) -> None:
    assert models.credits(model, 4) == shares
