"""Money in the reporting currency."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_MONEY = "decimal(18,4)"


def report_values(conversions: DataFrame, rates: DataFrame, currency: str) -> DataFrame:
    """Add `reporting_value`: the value at the rate as of the conversion's time, half up to four decimals.

    Args:
        conversions: currency, converted_at, value.
        rates: silver.exchange_rates; no two of a currency are valid at one time.
        currency: the reporting currency, which is worth itself, whatever rates say.

    Returns:
        The same rows. The reporting value is null where there is no rate, or where it does not fit.
    """
    own = F.upper("currency") == currency.upper()
    joined = conversions.join(F.broadcast(_validity(rates, "_rate")), _is_valid(), "left")
    at_rate = (F.col("value") * F.col("_rate")).try_cast(_MONEY)
    reported = F.when(own, F.col("value")).otherwise(at_rate)
    return joined.withColumn("reporting_value", reported).drop("_code", "_from", "_to", "_rate")


def rated_by(conversions: DataFrame, rates: DataFrame) -> DataFrame:
    """The conversions that one of these rates is valid for."""
    return conversions.join(F.broadcast(_validity(rates)), _is_valid(), "left_semi")


def _validity(rates: DataFrame, *rate: str) -> DataFrame:
    renamed = {"currency": "_code", "valid_from": "_from", "valid_to": "_to", "rate": "_rate"}
    return rates.withColumnsRenamed(renamed).select("_code", "_from", "_to", *rate)


def _is_valid() -> Column:
    at = F.col("converted_at")
    until = F.col("_to").isNull() | (at < F.col("_to"))
    return (F.upper("currency") == F.col("_code")) & (at >= F.col("_from")) & until
