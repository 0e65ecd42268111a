from decimal import Decimal

import polars as pl
import pytest
from widgets.formatting import Locale, locale_of, plain, plain_text


@pytest.mark.parametrize(
    ("language", "written"),
    [
        (None, "1,234,567.89"),
        ("en-GB", "1,234,567.89"),
        ("de-DE", "1.234.567,89"),
        ("de-CH", "1’234’567.89"),
        ("fr", "1\u202f234\u202f567,89"),
        ("xx-unknown", "1,234,567.89"),
    ],
)
def test_numbers_follow_locale_of_viewer(language: str | None, written: str) -> None:
    assert locale_of(language).number(1234567.891, 2) == written


def test_negative_numbers_have_minus_sign_and_shares_are_percentages() -> None:
    assert Locale().number(-12.5, 1) == "−12.5"
    assert Locale().share(0.1234) == "12.3%"
    assert locale_of("de").share(0.1234) == "12,3\u00a0%"
    assert Locale().share(None) == "–"


@pytest.mark.parametrize(("size", "words"), [(0, "0 B"), (1000, "1.0 kB"), (2_500_000, "2.5 MB")])
def test_sizes_use_largest_fitting_unit(size: int, words: str) -> None:
    assert Locale().size(size) == words


def test_money_shows_cents_and_fractions_of_a_cent_if_any() -> None:
    german = locale_of("de")
    assert [german.money(Decimal(text)) for text in ("1234.5000", "0.0050", "-3")] == [
        "1.234,50",
        "0,0050",
        "−3,00",
    ]


def test_text_is_truncated_and_stripped_of_control_characters() -> None:
    odd = ["a\nb\tc\x00", "\u202edrow", "x" * 10_000, None, "é" * 200]
    shown = ["a b c ", " drow", "x" * 200 + "…", None, "é" * 200]
    assert pl.DataFrame({"text": odd}).select(plain("text"))["text"].to_list() == shown
    assert plain_text(None) == "–"
    assert plain_text("\u2067x") == " x"
