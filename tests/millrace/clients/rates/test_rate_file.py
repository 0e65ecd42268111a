"""Files of exchange rates: with a row for each rate, and reference rates of the European Central Bank."""

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.errors import MillraceError
from lakehouse.timestamps import rfc3339
from millrace.clients.rates.rate_file import RateFile, read_rate_file

OWN = "currency,rate,valid_from\nusd,0.92,2026-03-01T00:00:00Z\nGBP,1.17,2026-03-01 12:00\n"
HISTORY = "Date,USD,JPY,CYP,\n2026-03-02,1.25,160,N/A,\n2026-02-27,1.20,,0.58,\n"
LATEST = "Date, USD, JPY, \n27 February 2026, 1.20, 160, \n"


def read(text: str, reporting: str = "EUR", zone: str = "UTC") -> RateFile:
    return read_rate_file(text.encode().splitlines(), "rates.csv", reporting, ZoneInfo(zone))


def rows(file: RateFile) -> list[tuple[str, str, str]]:
    return [(each.currency, f"{each.rate.normalize():f}", rfc3339(each.valid_from)) for each in file.rates]


def test_row_is_a_rate_from_its_time() -> None:
    assert rows(read(OWN)) == [
        ("USD", "0.92", "2026-03-01T00:00:00Z"),
        ("GBP", "1.17", "2026-03-01T12:00:00Z"),
    ]
    with_mark = "\N{ZERO WIDTH NO-BREAK SPACE}Rate,note,Valid_From,Currency\n2,x,2026-03-01T00:00:00Z,USD\n\n"
    assert rows(read(with_mark)) == [("USD", "2", "2026-03-01T00:00:00Z")]
    assert rows(read(OWN.replace(",", ";"))) == rows(read(OWN))


def test_file_with_own_columns_is_not_of_the_ecb() -> None:
    with_day = "date,currency,rate,valid_from\n,USD,0.92,2026-03-01T00:00:00Z\n,GBP,1.17,2026-03-01 12:00\n"
    assert rows(read(with_day)) == rows(read(OWN))
    assert [read(text).is_of_ecb for text in (OWN, with_day, HISTORY, LATEST)] == [False, False, True, True]


def test_rate_of_the_ecb_is_one_over_its_units_from_the_beginning_of_the_day() -> None:
    assert rows(read(HISTORY, zone="Europe/Berlin")) == [
        ("USD", "0.8", "2026-03-01T23:00:00Z"),
        ("JPY", "0.00625", "2026-03-01T23:00:00Z"),
        ("USD", "0.8333333333", "2026-02-26T23:00:00Z"),
        ("CYP", "1.724137931", "2026-02-26T23:00:00Z"),
    ]
    assert [row[1:] for row in rows(read(LATEST))][:1] == [("0.8333333333", "2026-02-27T00:00:00Z")]


def test_rates_of_another_reporting_currency_are_cross_rates() -> None:
    found = read(HISTORY, reporting="usd")
    assert rows(found)[:2] == [
        ("JPY", "0.0078125", "2026-03-02T00:00:00Z"),
        ("EUR", "1.25", "2026-03-02T00:00:00Z"),
    ]
    of_cyprus = read(HISTORY, reporting="CYP")
    assert (len(of_cyprus.rates), of_cyprus.left_out) == (2, 1)


UNITS = st.decimals("0.0001", "99999", places=4)


@given(UNITS, UNITS)
def test_cross_rate_is_rounded_half_up_to_ten_decimals(usd: Decimal, gbp: Decimal) -> None:
    found = read(f"Date,USD,GBP\n2026-03-02,{usd},{gbp}\n", reporting="GBP")
    (rate,) = [each.rate for each in found.rates if each.currency == "USD"]
    exact = Fraction(gbp) / Fraction(usd) * 10**10
    assert rate * 10**10 == (Decimal(exact.numerator * 2 + exact.denominator) // (exact.denominator * 2))
    assert rate == rate.quantize(Decimal("1e-10"), ROUND_HALF_UP)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no header"),
        ("code,value\nUSD,1\n", "no header"),
        ("currency,rate,valid_from\n", "has no rate"),
        (OWN.replace("usd", "US$"), "line 2 .* 'US\\$' for a currency"),
        (OWN.replace("1.17", "0"), "line 3 .* '0' for a rate"),
        (OWN.replace("0.92", "0,92"), "line 2"),
        (OWN.replace("2026-03-01 12:00", "March"), "line 3 .* 'March' for a time"),
        (OWN.replace(",2026-03-01 12:00", ""), "line 3 .* has 2 cells"),
        (HISTORY.replace("1.25", "-"), "line 2 .* '-' for a rate"),
        (HISTORY.replace("2026-02-27", "27.2.2026"), "line 3 .* for a day"),
    ],
)
def test_file_that_cannot_be_read_is_refused_whole(text: str, message: str) -> None:
    with pytest.raises(MillraceError, match=message):
        read(text)


def test_file_of_the_ecb_without_the_reporting_currency_is_refused() -> None:
    with pytest.raises(MillraceError, match="no column CHF, the reporting currency"):
        read(HISTORY, reporting="CHF")
