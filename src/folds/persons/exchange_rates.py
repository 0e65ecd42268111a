"""Exchange rates: converts values to the reporting currency, at the rate valid at a time."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

_UNITS = 10**4  # of money, four decimals
_RATE_DIGITS = 10  # decimal places: decimal(19,10)
_RATE_UNITS = 10**_RATE_DIGITS
_LIMIT = 10**18  # units: decimal(18,4)


class Rate(NamedTuple):
    """Row of silver.exchange_rates.

    Args:
        currency: its code in capitals.
        rate: value of one unit in the reporting currency.
        valid_from: start in microseconds since 1970, included.
        valid_to: end in microseconds since 1970, excluded; None for the currency's last rate.
    """

    currency: str
    rate: Decimal
    valid_from: int
    valid_to: int | None


class ExchangeRates:
    """Rates by currency and time.

    Args:
        rates: in any order; rates of one currency do not overlap in time.
        reporting_currency: its rate is always 1, whatever `rates` contains.
    """

    def __init__(self, rates: Iterable[Rate], reporting_currency: str) -> None:
        self._own = reporting_currency.upper()
        self._rates: dict[str, list[Rate]] = defaultdict(list)
        for rate in sorted(rates, key=lambda each: each.valid_from):
            self._rates[rate.currency].append(rate)
        self._starts = {code: [rate.valid_from for rate in rates] for code, rates in self._rates.items()}

    def with_rates(self, rates: Iterable[Rate]) -> "ExchangeRates":
        """Other rates to the same reporting currency."""
        return ExchangeRates(rates, self._own)

    def rate_at(self, currency: str | None, at: int) -> Rate | None:
        """Find the rate of a currency, in any case, at a time in microseconds."""
        code = (currency or "").upper()
        number = bisect_right(self._starts.get(code, ()), at)
        if not number:
            return None
        rate = self._rates[code][number - 1]
        return rate if rate.valid_to is None or at < rate.valid_to else None

    def valid_from(self, currency: str | None, at: int) -> int | None:
        """Start of the rate that a value is converted at, microseconds; None if none is needed or known."""
        rate = None if (currency or "").upper() == self._own else self.rate_at(currency, at)
        return None if rate is None else rate.valid_from

    def has_rate(self, currency: str | None, at: int) -> bool:
        """Whether a currency can be converted to the reporting currency at a time in microseconds."""
        return (currency or "").upper() == self._own or self.rate_at(currency, at) is not None

    def reporting_value(self, value: Decimal | None, currency: str | None, at: int) -> Decimal | None:
        """Convert a value to the reporting currency, rounded half up to four decimals.

        Args:
            value: with four decimals at most.
            currency: ISO 4217 code in any case.
            at: time of the conversion, microseconds since 1970.

        Returns:
            None without a value, a currency or a rate, and if the result has more than 14 digits before the
            decimal point.
        """
        if value is None or currency is None:
            return None
        if currency.upper() == self._own:
            return value
        rate = self.rate_at(currency, at)
        return None if rate is None else _converted(value, rate.rate)

    def value_in(self, currency: str | None, reporting_value: Decimal, at: int) -> Decimal:
        """Convert a value in the reporting currency back, rounded half up to four decimals.

        Args:
            currency: one that has a rate at that time, or the reporting currency.
            reporting_value: with four decimals.
            at: microseconds since 1970.
        """
        rate = None if (currency or "").upper() == self._own else self.rate_at(currency, at)
        if rate is None:
            return reporting_value
        units, divisor = int(reporting_value * _UNITS) * _RATE_UNITS, int(rate.rate.scaleb(_RATE_DIGITS))
        return Decimal((2 * units + divisor) // (2 * divisor)).scaleb(-4)


def _converted(value: Decimal, rate: Decimal) -> Decimal | None:
    exact = int(value * _UNITS) * int(rate.scaleb(_RATE_DIGITS))
    rounded = (abs(exact) + _RATE_UNITS // 2) // _RATE_UNITS
    if rounded >= _LIMIT:
        return None
    return Decimal(-rounded if exact < 0 else rounded).scaleb(-4)
