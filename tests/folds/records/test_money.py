"""Amounts as people write them, and the value of goals."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.records.money import load_currencies, parse_money
from kit import oracle_money
from kit.odd_values import MONEY
from kit.parser import CONF, parse
from kit.records import message, record
from lakehouse.errors import MillraceError

CURRENCIES = load_currencies(CONF)

AMOUNTS = {
    "2,000.00": "2000",
    "1.999,00": "1999",
    "1 999,00": "1999",
    "1\u00a0999,00": "1999",
    "1\u202f234\u202f567,8": "1234567.8",
    "1,234,567": "1234567",
    "1.234.567": "1234567",
    "1,234,567.891": "1234567.891",
    "1.234,567": "1234.567",
    "1,234.567": "1234.567",
    "1'999.50": "1999.5",
    "1’999": "1999",
    "1 999": "1999",
    "1,00,000.00": "100000",
    "12,34,567": "1234567",
    "12,50": "12.5",
    "12,5": "12.5",
    "1234,567": "1234.567",
    "0,795": "0.795",
    "6.795": "6.795",
    "$39.95": "39.95",
    "$ 39.95": "39.95",
    "39.95$": "39.95",
    "39,95 €": "39.95",
    "39,95\u00a0€": "39.95",
    "€1.999,00": "1999",
    "EUR 7": "7",
    "7 eur": "7",
    "USD1,999.00": "1999",
    "$1,999.00 USD": "1999",
    "US$ 5": "5",
    "R$ 1.234,50": "1234.5",
    "1 234,50 zł": "1234.5",
    "12,50 kr.": "12.5",
    "₹1,00,000": "100000",
    "$.50": "0.5",
    "-$5": "-5",
    "$-5": "-5",
    "- 5,00 €": "-5",
    "\u22125": "-5",
    "+$5": "5",
    "-$0.00": "0",
    " 12.50 ": "12.5",
    "$0.00005": "0.0001",
    "-$0.00005": "-0.0001",
    "$0.00004999": "0",
    "$99,999,999,999,999.99994": "99999999999999.9999",
    **dict.fromkeys(
        [
            "6,795",
            "$6,795",
            "999,999 EUR",
            "1,2,3",
            "1,23,45",
            "12,345,67",
            "1.234.56",
            "1,234,5678",
            "0,795,000",
            "0.795,000,1",
            "1 2",
            "1 99",
            "1 999 99",
            "1,999 000",
            "1,234.567,89",
            "12.50.",
            "12.-",
            "7 pieces",
            "2 for 10",
            "12%",
            "12 EUR 13",
            "EUR EUR 12",
            "--5",
            "-$-5",
            "5-",
            "(5.00)",
            "$",
            "EUR",
            "free",
            "n/a",
            "0x10",
            "1e2 EUR",
            "\u0665 EUR",
            "1\u00b2 EUR",
            "99,999,999,999,999.99995",
            "$99999999999999999",
            "true",
            "{}",
            "",
            " ",
        ]
    ),
}


@pytest.mark.parametrize("text", AMOUNTS)
def test_amount_is_read_or_null(text: str) -> None:
    wanted = AMOUNTS[text]
    found = parse_money(text, CURRENCIES)
    assert found == (None if wanted is None else Decimal(wanted)) == oracle_money.money(text) or (
        wanted is None and found is None and oracle_money.money(text) is None
    )


_SEPARATED = st.text("0123456789.,' -$€", max_size=12)


@given(st.one_of(_SEPARATED, st.text(max_size=8), MONEY.map(str)))
def test_amounts_of_any_text_equal_those_of_the_oracle(text: str) -> None:
    assert parse_money(text, CURRENCIES) == oracle_money.money(text)


@given(st.decimals(0, 10**9, places=2), st.sampled_from([",.", ".,", " ,", "' .".replace(" ", "")]))
def test_grouped_amount_with_cents_is_its_number(amount: Decimal, marks: str) -> None:
    by, point = marks[0], marks[1]
    text = f"{amount:,.2f}".replace(",", "_").replace(".", point).replace("_", by)
    assert parse_money(f"{text} EUR", CURRENCIES) == amount


def order(goal: str = "Order Completed", **properties: object) -> tuple[object, object]:
    """Value and unreadable value of a goal."""
    row = parse([record(message("o", "v", goal, properties=properties))])[0]
    return row["value"], row["unread_value"]


def test_value_is_total_else_revenue() -> None:
    assert order(total="", revenue=7) == (7, None)
    assert order(total=" ", revenue=7) == (7, None)
    assert order(total=0, revenue=7) == (0, None)
    assert order(total="$39.95", revenue=1) == (Decimal("39.95"), None)
    assert order(total="-5") == (-5, None)
    assert order("Order Refunded", total="1.999,00") == (-1999, None)


def test_value_that_was_sent_and_cannot_be_read_is_kept_as_sent() -> None:
    assert order(total="6,795") == (None, "6,795")
    assert order(total="6,795", revenue="free") == (None, "6,795")
    assert order(total="6,795", revenue=6000) == (6000, "6,795")
    assert order("Order Refunded", total="all") == (None, "all")
    assert order(total=True) == (None, "true")
    assert order(total="x" * 100) == (None, "x" * 64)


def test_value_that_was_not_sent_is_not_unreadable() -> None:
    assert order() == order(total=None, revenue="") == (None, None)
    assert order("Signed Up", total="6,795") == order("Order Cancelled", total="6,795") == (None, None)


def test_currencies_that_are_not_valid_are_named(tmp_path: Path) -> None:
    assert load_currencies(tmp_path).names == frozenset()
    (tmp_path / "currencies.yml").write_text("codes: 5\n")
    with pytest.raises(MillraceError, match=r"currencies\.yml: codes"):
        load_currencies(tmp_path)
