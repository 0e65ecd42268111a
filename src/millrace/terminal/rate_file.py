"""A file of exchange rates as text."""

from millrace.clients.rates.rate_file import RateFile
from millrace.local.process.state_files import one_line


def describe_rates(file: RateFile) -> str:
    """Origin, number of currencies, period and number of rates, in one line."""
    origin = "reference rates of the ECB" if file.is_of_ecb else "exchange rates"
    currencies = sorted({each.currency for each in file.rates})
    named = ", ".join(currencies[:5]) + (" and others" if len(currencies) > 5 else "")
    starts = sorted(each.valid_from for each in file.rates)
    left_out = f"; {file.left_out:,} days without the reporting currency left out" if file.left_out else ""
    return (
        f"{origin}, {len(currencies):,} currencies ({named}), valid from {starts[0]:%Y-%m-%d %H:%M} to "
        f"{starts[-1]:%Y-%m-%d %H:%M} UTC, {len(file.rates):,} rates{left_out}"
    )


def rate_file_json(file: RateFile) -> str:
    """The rates as a JSON object in one line."""
    return one_line(
        {
            "is_of_ecb": file.is_of_ecb,
            "rates": len(file.rates),
            "currencies": sorted({each.currency for each in file.rates}),
            "first": min(each.valid_from for each in file.rates).isoformat(),
            "last": max(each.valid_from for each in file.rates).isoformat(),
            "left_out": file.left_out,
        }
    )
