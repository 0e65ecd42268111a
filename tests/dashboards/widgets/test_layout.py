"""Numbers in tables: rounded as in charts and figures, though a table cuts off decimals."""

import math

import polars as pl
import pytest
from widgets import layout


def cut_off(value: float, digits: int) -> float:
    """What Streamlit's table makes of a number whose column has a step."""
    return math.trunc(value * 10**digits) / 10**digits


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_a_table_shows_the_nearest_number(digits: int) -> None:
    exact = [number / 10**digits for number in range(-1500, 1500)]
    between = [0.16754, 1 / 7, 2 / 3, -2 / 3, 1774.2149, 24.0683, 0.0, 1e9 + 2 / 3]
    column = layout.number_column("n", digits)
    shown = layout._shown(pl.DataFrame({"n": [*exact, *between]}), {"n": column})["n"]
    expected = [*exact, *(round(value, digits) for value in between)]
    assert [cut_off(value, digits) for value in shown] == pytest.approx(expected, rel=1e-15, abs=1e-15)


def test_a_share_is_rounded_to_a_tenth_of_a_per_cent() -> None:
    rows = pl.DataFrame({"share": [192 / 1146, None, 0.289]})
    shown = layout._shown(rows, {"share": layout.share_column("Share")})["share"]
    assert [value and cut_off(value, 3) for value in shown] == [0.168, None, 0.289]


def test_a_column_that_says_nothing_of_decimals_keeps_them() -> None:
    rows = pl.DataFrame({"plain": [0.123456], "other": [1.5]})
    shown = layout._shown(rows, {"plain": "Plain", "other": layout.text_column("Other")})
    assert shown.row(0) == (0.123456, 1.5)
