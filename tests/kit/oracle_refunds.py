"""Test oracle for the value of refunds and cancellations: what is left of the order, refund by refund."""

from decimal import Decimal
from fractions import Fraction
from math import floor

from kit.oracle_identities import worth
from kit.oracle_wire import Fields

REFUND, CANCELLATION, ORDER = "Order Refunded", "Order Cancelled", "Order Completed"
REVERSALS = (REFUND, CANCELLATION)


class OrderMoney:
    """The money of one order and its refunds.

    Args:
        order: the order's conversion; None if there is none.
        refunds: conversions that refund it, with value and currency from the event.
        rates: silver.exchange_rates.
    """

    def __init__(self, order: Fields | None, refunds: list[Fields], rates: list[Fields]) -> None:
        self.order = order
        self.rates = rates
        mine = order["currency"] if order else None
        self.refunds = [
            {**each, "sent_in": each["currency"] if each["currency"] is not None else mine}
            for each in sorted(refunds, key=when)
        ]

    def money_of(self, refund: Fields) -> Fields:
        """Value, value as sent, currency and reporting value of a refund, and whether it was cut."""
        rows, _ = self._walk()
        return rows[refund["conversion_id"]]

    def money_of_cancellation(self) -> Fields:
        """Value, currency and reporting value of a cancellation."""
        if self.order is None:
            return self._unknown(None)
        _, left = self._walk()
        return self._rest(left, self.order["converted_at"])

    def _walk(self) -> tuple[dict[str, Fields], tuple[Fraction | None, bool]]:
        """The refunds one after the other, and then what is left: at most how much, and if that is exact."""
        rows: dict[str, Fields] = {}
        left, exact = self._start(), True
        for each in self.refunds:
            row, taken = self._one(each, left, exact)
            rows[each["conversion_id"]] = row
            if taken is None:
                exact = False
            elif left is not None:
                left -= taken
        return rows, (left, exact)

    def _one(self, refund: Fields, left: Fraction | None, exact: bool) -> tuple[Fields, Fraction | None]:
        """The row of the next refund, and how much of the order it takes; None if that is not known."""
        at, currency = refund["converted_at"], refund["sent_in"]
        if refund["value"] is None:
            if self.order is None:
                return {**self._unknown(None), "over_refunded": False}, None
            return {**self._rest((left, exact), at), "over_refunded": left == 0}, left if exact else None
        sent = -abs(refund["value"]) + 0
        row = {
            "value": sent,
            "value_sent": sent,
            "currency": currency,
            "reporting_value": worth(sent, currency, at, self.rates),
            "over_refunded": False,
            "is_of_order": refund["currency"] is None,
        }
        asked = row["value" if self._is_one_currency else "reporting_value"]
        if left is None:
            return row, Fraction(0)
        if sent == 0:
            return row, Fraction(0)
        if left > 0 and (asked is None or -asked <= left):
            return row, None if asked is None else -Fraction(asked)
        value, reporting = self._in_currency(left, currency, at)
        return {**row, "value": value, "reporting_value": reporting, "over_refunded": True}, left

    def _start(self) -> Fraction | None:
        if self.order is None:
            return None
        total = self.order["value" if self._is_one_currency else "reporting_value"]
        return None if total is None else max(Fraction(total), Fraction(0))

    def _rest(self, left: tuple[Fraction | None, bool], at: int) -> Fields:
        """What is left of the order, in its currency."""
        most, exact = left
        currency = self.order["currency"]
        if most is None or (not exact and most > 0):
            return self._unknown(currency)
        value, reporting = self._in_currency(most, currency, at)
        if -value > max(self.order["value"], 0):
            value = -max(self.order["value"], Decimal(0)) + 0
            reporting = worth(value, currency, at, self.rates)
        return {**self._unknown(currency), "value": value, "reporting_value": reporting}

    def _in_currency(self, left: Fraction, currency: str | None, at: int) -> tuple[Decimal, Decimal | None]:
        """An amount that is compared, negated: in a currency, and in euros."""
        if self._is_one_currency or left == 0:
            value = -Decimal(int(left * 10**4)).scaleb(-4) + 0
            return value, worth(value, currency, at, self.rates)
        rate = self._rate(currency, at)
        value = _rounded(left / (rate or self._rate(currency, self.order["converted_at"])))
        return -value + 0, None if rate is None else -_rounded(left) + 0

    def _unknown(self, currency: str | None) -> Fields:
        return {
            **dict.fromkeys(("value", "value_sent", "reporting_value")),
            "currency": currency,
            "is_of_order": True,
        }

    @property
    def _is_one_currency(self) -> bool:
        codes = {(each["sent_in"] or "").upper() for each in self.refunds if each["value"]}
        return self.order is None or codes <= {(self.order["currency"] or "").upper()}

    def _rate(self, currency: str | None, at: int) -> Fraction | None:
        code = (currency or "").upper()
        valid = [rate for rate in self.rates if rate["currency"] == code and rate["valid_from"] <= at]
        latest = max(valid, key=lambda rate: rate["valid_from"], default=None)
        if code == "EUR":
            return Fraction(1)
        return None if latest is None else Fraction(latest["rate"])


def _rounded(exact: Fraction) -> Decimal:
    """Half up to four decimals."""
    return Decimal(floor(exact * 10**4 + Fraction(1, 2))).scaleb(-4)


def when(conversion: Fields) -> tuple[int, str]:
    """Sort key of conversions."""
    return conversion["converted_at"], conversion["event_id"]


def rate_start(row: Fields, at: int, rates: list[Fields]) -> int | None:
    """Start of the rate that a row's value is in euros at, as of a time; None without a value in euros."""
    code = (row["currency"] or "").upper()
    starts = [rate["valid_from"] for rate in rates if rate["currency"] == code and rate["valid_from"] <= at]
    return None if row["reporting_value"] is None or code == "EUR" else max(starts)


def with_money(conversions: list[Fields], rates: list[Fields]) -> list[Fields]:
    """Conversions with the computed values of refunds and cancellations, and the rate of each."""
    found = []
    for each in conversions:
        plain = {
            "value_sent": each["value"],
            "over_refunded": False,
            "is_of_order": False,
            "is_counted": each["goal"] not in REVERSALS,
        }
        if plain["is_counted"]:
            since = rate_start(each, each["converted_at"], rates)
            found.append({**each, **plain, "rate_valid_from": since})
            continue
        same = [each]
        if each["order_id"] is not None:
            same = [other for other in conversions if other["order_id"] == each["order_id"]]
        order = next((other for other in same if other["goal"] == ORDER), None)
        refunds = [other for other in same if other["goal"] == REFUND]
        money = OrderMoney(order, refunds, rates)
        is_refund = each["goal"] == REFUND
        row = {**each, **plain, **(money.money_of(each) if is_refund else money.money_of_cancellation())}
        at = each["converted_at"] if is_refund or order is None else order["converted_at"]
        found.append({**row, "rate_valid_from": rate_start(row, at, rates)})
    return found
