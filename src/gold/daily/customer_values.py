"""Custom dimensions from columns of the shop's customers, as of conversions."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.records.dimension_rules import MAX_VALUE
from gold.as_of import as_of, period
from lakehouse.contracts.shop import CUSTOMERS

_TEXTS = "map<string,string>"


def with_customer_values(
    conversions: DataFrame, customers: DataFrame, columns: Mapping[str, str]
) -> DataFrame:
    """Conversions whose custom dimensions have those of the customer that the person was at the time, too.

    Args:
        conversions: rows of gold.conversions.
        customers: silver.customers.
        columns: by name of the dimension, a column of silver.customers, else of the shop's table.
    """
    ids = conversions.select(F.col("person_id").alias("person_id"))  # as new attributes, see `semi_join`
    persons = ids.distinct()  # not broadcast: a rebuild has those of all times
    known = customers.withColumnRenamed("customer_id", "person_id").join(persons, "person_id", "left_semi")
    values = F.map_from_arrays(*(F.array(*each) for each in zip(*_values(columns), strict=True)))
    versions = known.select("person_id", values.alias("_values"), *period())
    found = as_of(conversions, versions, "person_id", "converted_at", ("conversion_id",))
    empty = F.from_json(F.lit("{}"), _TEXTS)
    sent = F.coalesce(F.from_json("custom_dimensions", _TEXTS), empty)
    own = F.map_filter(sent, lambda name, _: ~name.isin(*columns))  # before a replay, a name may be of both
    all_values = F.map_concat(own, F.coalesce("_values", empty))
    stated = F.map_filter(all_values, lambda _, value: value.isNotNull())
    return found.withColumn("custom_dimensions", F.to_json(stated)).select(*conversions.columns)


def _values(columns: Mapping[str, str]) -> list[tuple[Column, Column]]:
    """By name, the value of a version: text as in `custom_dimensions`, null without any."""
    row = F.from_json("row", _TEXTS)
    sent = {name: F.col(name) if name in CUSTOMERS.attributes else row[name] for name in columns.values()}
    return [
        (F.lit(name), F.nullif(F.rtrim(F.left(F.trim(sent[column]), F.lit(MAX_VALUE))), F.lit("")))
        for name, column in columns.items()
    ]
