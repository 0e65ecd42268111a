"""Amounts: the values of conversions; refunds and cancellations depend on the order that they reverse."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from folds.persons.balance import Balance, is_of_order, sent_value
from folds.persons.exchange_rates import ExchangeRates
from folds.persons.records import Goal


class Amount(NamedTuple):
    """The value of a conversion.

    Args:
        value: money in `currency`; 0 or less for a refund or cancellation; None if unknown.
        value_sent: the amount in the event, 0 or less for a refund; None if the event has none.
        currency: as sent; the order's currency if the event has no amount or no currency.
        reporting_value: the value in the reporting currency; None without a rate.
        rate_valid_from: start of the exchange rate that the reporting value was computed with, microseconds
            since 1970; None without a reporting value, and if the currency is the reporting currency.
        over_refunded: the refund counts for less than was sent, or nothing was left of the order for it.
        is_of_order: the event has no amount or no currency: what is missing follows from the order.
    """

    value: Decimal | None
    value_sent: Decimal | None
    currency: str | None
    reporting_value: Decimal | None
    rate_valid_from: int | None
    over_refunded: bool = False
    is_of_order: bool = False


def own_amount(goal: Goal, rates: ExchangeRates) -> Amount:
    """The value of a conversion that reverses no order."""
    at, currency = goal.converted_at, goal.currency
    reporting = rates.reporting_value(goal.value, currency, at)
    return Amount(goal.value, goal.value, currency, reporting, _rate_start(reporting, currency, at, rates))


def refund_amounts(order: Goal | None, refunds: Sequence[Goal], rates: ExchangeRates) -> list[Amount]:
    """Compute the values of an order's refunds.

    Args:
        order: None if unknown: then each refund has the amount that was sent.
        refunds: all refunds of the order, by time, then UID; a refund without an amount has value None.
        rates: of all currencies.

    Returns:
        One amount per refund, in the same order.
    """
    if order is None:
        return [_unlimited(each, rates) for each in refunds]
    balance = Balance(order, refunds, rates)
    return [_limited(each, balance, order, rates) for each in refunds]


def cancellation_amount(order: Goal | None, refunds: Sequence[Goal], rates: ExchangeRates) -> Amount:
    """The value of a cancellation: the order's balance after all refunds, at the order's rate."""
    if order is None:
        return Amount(None, None, None, None, None, is_of_order=True)
    balance = Balance(order, refunds, rates)
    for each in refunds:
        balance.refund(each)
    at, currency = order.converted_at, order.currency
    rest = balance.remainder(at)
    since = _rate_start(rest.reporting_value, currency, at, rates)
    return Amount(rest.value, None, currency, rest.reporting_value, since, is_of_order=True)


def _unlimited(refund: Goal, rates: ExchangeRates) -> Amount:
    value = sent_value(refund)
    currency, at = refund.currency if value is not None else None, refund.converted_at
    reporting = rates.reporting_value(value, currency, at)
    since = _rate_start(reporting, currency, at, rates)
    return Amount(value, value, currency, reporting, since, is_of_order=is_of_order(refund))


def _limited(refund: Goal, balance: Balance, order: Goal, rates: ExchangeRates) -> Amount:
    counted = balance.refund(refund)
    currency = order.currency if is_of_order(refund) else refund.currency
    return Amount(
        counted.value,
        sent_value(refund),
        currency,
        counted.reporting_value,
        _rate_start(counted.reporting_value, currency, refund.converted_at, rates),
        counted.is_cut,
        is_of_order(refund),
    )


def _rate_start(
    reporting_value: Decimal | None, currency: str | None, at: int, rates: ExchangeRates
) -> int | None:
    return None if reporting_value is None else rates.valid_from(currency, at)
