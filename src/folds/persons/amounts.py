"""Amounts: the values of conversions; refunds and cancellations depend on the order that they reverse."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.records import Goal

_NOTHING = Decimal("0.0000")


class Amount(NamedTuple):
    """The value of a conversion.

    Args:
        value: money in `currency`; 0 or less for a refund or cancellation; None if unknown.
        currency: as sent; the order's currency if the value is derived from the order.
        reporting_value: the value in the reporting currency; None without a rate.
        over_refunded: the refunds of the order, up to this one, exceed its value.
        is_of_order: value and currency are derived from the order, not from the event.
    """

    value: Decimal | None
    currency: str | None
    reporting_value: Decimal | None
    over_refunded: bool = False
    is_of_order: bool = False


def own_amount(goal: Goal, rates: ExchangeRates) -> Amount:
    """The value of a conversion that reverses no order."""
    reporting = rates.reporting_value(goal.value, goal.currency, goal.converted_at)
    return Amount(goal.value, goal.currency, reporting)


def refund_amounts(order: Goal | None, refunds: Sequence[Goal], rates: ExchangeRates) -> list[Amount]:
    """Compute the values of an order's refunds.

    Args:
        order: None if unknown.
        refunds: all refunds of the order, by time, then UID; a refund without an amount has value None.
        rates: of all currencies.

    Returns:
        One amount per refund, in the same order.
    """
    if order is None:
        return [_sent_refund(each, rates) for each in refunds]
    balance = Balance(order, refunds, rates)
    return [balance.refund(each) for each in refunds]


def cancellation_amount(order: Goal | None, refunds: Sequence[Goal], rates: ExchangeRates) -> Amount:
    """The value of a cancellation: the order's balance after all refunds, at the order's rate."""
    if order is None:
        return Amount(None, None, None, is_of_order=True)
    balance = Balance(order, refunds, rates)
    for each in refunds:
        balance.refund(each)
    return balance.remainder(order.converted_at)


def _sent_refund(refund: Goal, rates: ExchangeRates) -> Amount:
    """The refund's own amount, made 0 or less; without a value, an unknown amount."""
    if refund.value is None:
        return Amount(None, None, None, is_of_order=True)
    value = -abs(refund.value)
    return Amount(value, refund.currency, rates.reporting_value(value, refund.currency, refund.converted_at))


class Balance:
    """The balance of an order after the refunds so far.

    It is in the order's currency if all refunds are in that currency. Otherwise it is in the reporting
    currency, and each amount is converted at its own rate.

    Args:
        order: the order.
        refunds: all refunds of the order.
        rates: of all currencies.
    """

    def __init__(self, order: Goal, refunds: Iterable[Goal], rates: ExchangeRates) -> None:
        self._order = order
        self._rates = rates
        sent = (each.currency for each in refunds if each.value is not None)
        self._is_in_reporting = any(_code(currency) != _code(order.currency) for currency in sent)
        self._total = own_amount(order, rates).reporting_value if self._is_in_reporting else order.value
        self._refunded = _NOTHING
        self._is_exact = True

    def refund(self, refund: Goal) -> Amount:
        """Subtract the next refund, and return its amount."""
        if refund.value is None:
            amount = self.remainder(refund.converted_at)
        else:
            amount = _sent_refund(refund, self._rates)
        refunded = amount.reporting_value if self._is_in_reporting else amount.value
        if refunded is None:
            self._is_exact = False
        else:
            self._refunded -= refunded
        return amount._replace(over_refunded=self._total is not None and self._refunded > self._total)

    def remainder(self, at: int) -> Amount:
        """The negated balance: 0 or less, in the order's currency, converted at the rate of a time."""
        left, currency = self._left(), self._order.currency
        value = None if left is None else -left
        reporting = self._rates.reporting_value(value, currency, at)
        return Amount(value, currency, reporting, is_of_order=True)

    def _left(self) -> Decimal | None:
        """The balance in the order's currency; None if the order's value or a required rate is unknown."""
        if self._total is None or self._order.value is None or not self._is_exact:
            return None
        left = self._total - self._refunded
        if self._is_in_reporting:
            left = self._rates.value_in(self._order.currency, left, self._order.converted_at)
        return max(min(left, self._order.value), _NOTHING)


def _code(currency: str | None) -> str:
    return (currency or "").upper()
