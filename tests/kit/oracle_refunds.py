"""Test oracle for the value of refunds and cancellations, computed naively with fractions."""

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
        self.refunds = refunds
        self.rates = rates

    def money_of(self, refund: Fields) -> Fields:
        """Value, currency and reporting value of a refund, and whether it exceeds the order's value."""
        money = self._amount(refund)
        so_far = [each for each in self.refunds if when(each) <= when(refund)]
        amounts = [self._compared(self._amount(each)) for each in so_far]
        total, known = self._order_compared, sum(amount for amount in amounts if amount is not None)
        return {**money, "over_refunded": total is not None and known > total}

    def money_of_cancellation(self) -> Fields:
        """Value, currency and reporting value of a cancellation."""
        if self.order is None:
            return {"value": None, "currency": None, "reporting_value": None, "is_of_order": True}
        return self._remainder(self.refunds, self.order["converted_at"])

    def _amount(self, refund: Fields) -> Fields:
        at = refund["converted_at"]
        if refund["value"] is not None:
            value, currency = -abs(refund["value"]), refund["currency"]
            reporting = worth(value, currency, at, self.rates)
            return {"value": value, "currency": currency, "reporting_value": reporting, "is_of_order": False}
        if self.order is None:
            return self.money_of_cancellation()
        return self._remainder([each for each in self.refunds if when(each) < when(refund)], at)

    def _remainder(self, refunds: list[Fields], at: int) -> Fields:
        """The order's value minus some refunds, at the exchange rate of a time."""
        currency = self.order["currency"]
        left = self._left([self._compared(self._amount(each)) for each in refunds])
        value = None if left is None else -left + 0
        reporting = worth(value, currency, at, self.rates)
        return {"value": value, "currency": currency, "reporting_value": reporting, "is_of_order": True}

    def _left(self, amounts: list[Fraction | None]) -> Decimal | None:
        total, value = self._order_compared, self.order["value"]
        if total is None or None in amounts:
            return None
        left = total - sum(amounts)
        if not self._is_one_currency:
            left = Fraction(floor(left / self._order_rate * 10**4 + Fraction(1, 2)), 10**4)
        units = max(0, min(left, Fraction(value))) * 10**4
        return Decimal(int(units)).scaleb(-4)

    @property
    def _is_one_currency(self) -> bool:
        codes = {(each["currency"] or "").upper() for each in self.refunds if each["value"] is not None}
        return codes <= {(self.order["currency"] or "").upper()}

    @property
    def _order_compared(self) -> Fraction | None:
        if self.order is None:
            return None
        name = "value" if self._is_one_currency else "reporting_value"
        return None if self.order[name] is None else Fraction(self.order[name])

    def _compared(self, money: Fields) -> Fraction | None:
        """An amount as a positive deduction, in the currency used for comparison."""
        if self.order is None:
            return None
        amount = money["value" if self._is_one_currency else "reporting_value"]
        return None if amount is None else -Fraction(amount)

    @property
    def _order_rate(self) -> Fraction:
        code, at = self.order["currency"].upper(), self.order["converted_at"]
        valid = [rate for rate in self.rates if rate["currency"] == code and rate["valid_from"] <= at]
        latest = max(valid, key=lambda rate: rate["valid_from"], default=None)
        return Fraction(1) if code == "EUR" or latest is None else Fraction(latest["rate"])


def when(conversion: Fields) -> tuple[int, str]:
    """Sort key of conversions."""
    return conversion["converted_at"], conversion["event_id"]


def with_money(conversions: list[Fields], rates: list[Fields]) -> list[Fields]:
    """Conversions with the computed values of refunds and cancellations."""
    found = []
    for each in conversions:
        plain = {"over_refunded": False, "is_of_order": False, "is_counted": each["goal"] not in REVERSALS}
        if plain["is_counted"]:
            found.append({**each, **plain})
            continue
        same = [each]
        if each["order_id"] is not None:
            same = [other for other in conversions if other["order_id"] == each["order_id"]]
        order = next((other for other in same if other["goal"] == ORDER), None)
        refunds = [other for other in same if other["goal"] == REFUND]
        money = OrderMoney(order, refunds, rates)
        own = money.money_of(each) if each["goal"] == REFUND else money.money_of_cancellation()
        found.append({**each, **plain, **own})
    return found
