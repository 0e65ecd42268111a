"""Amounts: what conversions are worth, refunds and cancellations by the order that they reverse."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.records import Goal

_NOTHING = Decimal("0.0000")


class Amount(NamedTuple):
    """What a conversion is worth.

    Args:
        value: money in `currency`; not above 0 for a refund or cancellation. None if it is not known.
        currency: as sent; that of the order where the value follows from it.
        reporting_value: the value in the reporting currency; None without a rate.
        over_refunded: with this refund, or already before, more was refunded than the order is worth.
        is_of_order: value and currency follow from the order, and are not the event's own.
    """

    value: Decimal | None
    currency: str | None
    reporting_value: Decimal | None
    over_refunded: bool = False
    is_of_order: bool = False


def own_amount(goal: Goal, rates: ExchangeRates) -> Amount:
    """What a conversion is worth that reverses no order."""
    reporting = rates.reporting_value(goal.value, goal.currency, goal.converted_at)
    return Amount(goal.value, goal.currency, reporting)


def refund_amounts(order: Goal | None, refunds: Sequence[Goal], rates: ExchangeRates) -> list[Amount]:
    """What the refunds of an order are worth.

    Args:
        order: None if it is not known.
        refunds: all of them, in order of time, then UID; value None for one without an amount.
        rates: of all currencies.

    Returns:
        As many amounts, in the same order.
    """
    if order is None:
        return [_sent_refund(each, rates) for each in refunds]
    balance = Balance(order, refunds, rates)
    return [balance.refund(each) for each in refunds]


def cancellation_amount(order: Goal | None, refunds: Sequence[Goal], rates: ExchangeRates) -> Amount:
    """What a cancellation is worth: what all refunds of the order leave of it, at the order's rate."""
    if order is None:
        return Amount(None, None, None, is_of_order=True)
    balance = Balance(order, refunds, rates)
    for each in refunds:
        balance.refund(each)
    return balance.remainder(order.converted_at)


def _sent_refund(refund: Goal, rates: ExchangeRates) -> Amount:
    """A refund whose order is not known: its own amount, if it has one."""
    if refund.value is None:
        return Amount(None, None, None, is_of_order=True)
    value = -abs(refund.value)
    return Amount(value, refund.currency, rates.reporting_value(value, refund.currency, refund.converted_at))


class Balance:
    """What is left of an order after the refunds so far.

    Kept in the order's currency if all refunds are in it, else in the reporting currency, each at its rate.

    Args:
        order: which.
        refunds: all that the order has.
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
        """The amount of the next refund, which is subtracted."""
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
        """What is left, negated: never above 0, in the order's currency, at the rate of a time."""
        left, currency = self._left(), self._order.currency
        value = None if left is None else -left
        reporting = self._rates.reporting_value(value, currency, at)
        return Amount(value, currency, reporting, is_of_order=True)

    def _left(self) -> Decimal | None:
        """In the order's currency; None if the order's value is not known, or a rate that it takes."""
        if self._total is None or self._order.value is None or not self._is_exact:
            return None
        left = self._total - self._refunded
        if self._is_in_reporting:
            left = self._rates.value_in(self._order.currency, left, self._order.converted_at)
        return max(min(left, self._order.value), _NOTHING)


def _code(currency: str | None) -> str:
    return (currency or "").upper()
