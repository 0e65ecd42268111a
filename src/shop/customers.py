"""Whose a change of the shop's database is: the customers that it names."""

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from shop.shop_file import ShopRules

_VALUES = "map<string,string>"


def customers_of(rules: ShopRules) -> Column:
    """The customers that a row of silver.shop_changes names, an array of text.

    In a table of conf/shop.yml with a `customer_id`, that is its column; in one without it, as products,
    nobody is named. In a table that is not in conf/shop.yml, each value may be a customer.
    """
    row, key = (F.from_json(name, _VALUES) for name in ("row", "row_key"))
    nobody = F.array().cast("array<string>")
    both = (F.coalesce(F.map_values(each), nobody) for each in (row, key))
    found = F.concat(*both)
    for (source, table), names in rules.customer_columns.items():
        is_of_table = (F.col("source") == source) & (F.col("source_table") == table)
        found = F.when(is_of_table, _mapped(names, row, key)).otherwise(found)
    return F.array_compact(found)


def _mapped(names: Sequence[str], row: Column, key: Column) -> Column:
    if not names:
        return F.array().cast("array<string>")
    return F.array(
        F.coalesce(*(F.try_element_at(each, F.lit(name)) for each in (row, key) for name in names))
    )
