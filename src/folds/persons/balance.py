"""The balance of an order: what its refunds leave of it, one after the other."""

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.records import Goal

_NOTHING = Decimal("0.0000")


class Counted(NamedTuple):
    """What a refund or cancellation takes off its order.

    Args:
        value: 0 or less, in the currency of the refund; None if unknown.
        reporting_value: 0 or less, in the reporting currency; None if unknown.
        is_cut: less than was sent, or nothing was left.
    """

    value: Decimal | None
    reporting_value: Decimal | None
    is_cut: bool = False


def sent_value(refund: Goal) -> Decimal | None:
    """The amount in a refund's event, made 0 or less; None if it has none."""
    return None if refund.value is None else -abs(refund.value)


def is_of_order(refund: Goal) -> bool:
    """Whether a refund's event has no amount or no currency, so that they follow from the order."""
    return refund.value is None or refund.currency is None


class Balance:
    """What is left of an order after the refunds so far.

    It is in the order's currency if all refunds are in that currency. Otherwise it is in the reporting
    currency, and each amount is converted at its own rate. A refund of 0 changes neither.

    Args:
        order: the order.
        refunds: all refunds of the order.
        rates: of all currencies.
    """

    def __init__(self, order: Goal, refunds: Iterable[Goal], rates: ExchangeRates) -> None:
        self._order = order
        self._rates = rates
        sent = (_code(each.currency) for each in refunds if each.value and each.currency is not None)
        self._is_in_reporting = any(code != _code(order.currency) for code in sent)
        total = order.value
        if self._is_in_reporting:
            total = rates.reporting_value(order.value, order.currency, order.converted_at)
        self._left = None if total is None else max(total, _NOTHING)
        self._is_exact = True

    def refund(self, refund: Goal) -> Counted:
        """Subtract the next refund, and return what it counts for."""
        value, at = sent_value(refund), refund.converted_at
        if value is None:
            return self._refund_remainder(at)
        currency = self._order.currency if is_of_order(refund) else refund.currency
        sent = Counted(value, self._rates.reporting_value(value, currency, at))
        if self._left is None or not value:
            return sent
        compared = sent.reporting_value if self._is_in_reporting else value
        if self._left and compared is None:
            self._is_exact = False
            return sent
        if self._left and compared is not None and -compared <= self._left:
            self._left += compared
            return sent
        cut = self._converted(self._left, currency, at)
        self._left = _NOTHING
        return cut._replace(is_cut=True)

    def remainder(self, at: int) -> Counted:
        """All that is left, in the order's currency, converted at the rate of a time."""
        left, value, currency = self._left, self._order.value, self._order.currency
        if left is None or value is None or (left and not self._is_exact):
            return Counted(None, None)
        counted = self._converted(left, currency, at)
        most = max(value, _NOTHING)
        if counted.value is not None and -counted.value > most:
            return Counted(-most, self._rates.reporting_value(-most, currency, at))
        return counted

    def _refund_remainder(self, at: int) -> Counted:
        """The refund of all that is left: nothing is left after it, if it is known how much that was."""
        counted = self.remainder(at)._replace(is_cut=self._left == 0)
        if counted.value is not None:
            self._left = _NOTHING
        return counted

    def _converted(self, left: Decimal, currency: str | None, at: int) -> Counted:
        """A balance, negated: in a currency, and in the reporting currency at the rate of a time.

        A balance in the reporting currency stays exactly what it is there, although the value in the other
        currency is rounded. Without a rate at that time, the value is at the order's.
        """
        if not self._is_in_reporting or not left:
            return Counted(-left, self._rates.reporting_value(-left, currency, at))
        has_rate = self._rates.has_rate(currency, at)
        value = self._rates.value_in(currency, left, at if has_rate else self._order.converted_at)
        return Counted(-value, -left if has_rate else None)


def _code(currency: str | None) -> str:
    return (currency or "").upper()
