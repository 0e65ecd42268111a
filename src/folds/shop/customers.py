"""Whose a row of the shop's database is: the customers that it names."""

from collections.abc import Mapping

import msgspec

CustomerColumns = Mapping[tuple[str, str], tuple[str, ...]]
"""By source and table of conf/shop.yml, the columns with the customer; none in a table such as products."""

_decode = msgspec.json.Decoder(dict[str, str | None]).decode


def customers_in(
    columns: CustomerColumns, source: str, table: str, row: str | None, row_key: str | None
) -> set[str]:
    """The customers that a row of silver.shop_changes names, as `shop.customers.customers_of` finds them.

    Args:
        columns: of conf/shop.yml. In a table that it does not have, each value may be a customer.
        source: name of the database.
        table: name of the table, with schema.
        row: all columns as JSON; None for a delete.
        row_key: primary key as JSON; None for a truncate.
    """
    both = [_decode(text) for text in (row, row_key) if text is not None]
    names = columns.get((source, table))
    if names is None:
        return {value for each in both for value in each.values() if value is not None}
    found = (each.get(name) for each in both for name in names)
    customer = next((value for value in found if value is not None), None)
    return set() if customer is None else {customer}
