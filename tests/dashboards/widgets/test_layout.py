"""Numbers in tables are rounded before Streamlit truncates their decimals."""

import math

import polars as pl
import pytest
from widgets import layout


def truncate(value: float, digits: int) -> float:
    """Truncates a number like Streamlit's table does for a column with a step."""
    return math.trunc(value * 10**digits) / 10**digits


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_number_column_shows_nearest_value(digits: int) -> None:
    exact = [number / 10**digits for number in range(-1500, 1500)]
    between = [0.16754, 1 / 7, 2 / 3, -2 / 3, 1774.2149, 24.0683, 0.0, 1e9 + 2 / 3]
    column = layout.number_column("n", digits)
    shown = layout._shown(pl.DataFrame({"n": [*exact, *between]}), {"n": column})["n"]
    expected = [*exact, *(round(value, digits) for value in between)]
    assert [truncate(value, digits) for value in shown] == pytest.approx(expected, rel=1e-15, abs=1e-15)


def test_share_column_is_rounded_to_tenth_of_percent() -> None:
    rows = pl.DataFrame({"share": [192 / 1146, None, 0.289]})
    shown = layout._shown(rows, {"share": layout.share_column("Share")})["share"]
    assert [value and truncate(value, 3) for value in shown] == [0.168, None, 0.289]


def test_column_without_number_format_keeps_decimals() -> None:
    rows = pl.DataFrame({"plain": [0.123456], "other": [1.5]})
    shown = layout._shown(rows, {"plain": "Plain", "other": layout.text_column("Other")})
    assert shown.row(0) == (0.123456, 1.5)
