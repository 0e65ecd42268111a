"""Columns that would reveal a masked column, and are therefore masked as well.

A user id is also in `person_id`, in lists, in addresses and in the bytes of records. A session's id is a
hash of visitor and start, which can be guessed. So a mask on one column extends to the others.
"""

import re
from collections.abc import Iterable, Mapping

from lakehouse.access.masks import Mask
from lakehouse.contracts.cohorts import AGES
from lakehouse.contracts.table import Column, Table

Place = tuple[str, str]
"""A table and a column of it."""

Columns = Mapping[Place, tuple[Table, Column]]

_ADDRESSES = ("url", "referrer", "entry_url", "exit_url", "entry_referrer")
_SAME_VALUES = (
    ("visitor_id", "user_id", "person_id", "customer_id"),
    (
        *("event_id", "first_event_id", "last_event_id", "from_event_id", "to_event_id"),
        *("search_event_id", "touch_id"),
    ),
    _ADDRESSES,
    (
        "silver.events.value",
        "gold.conversions.value",
        "gold.conversions.value_sent",
        "gold.conversions.reporting_value",
        "gold.bot_refunds.value",
        "gold.attribution.credited_value",
        "gold.attribution.credited_reporting_value",
        "gold.order_comparisons.value",
        "gold.order_comparisons.shop_value",
        "silver.orders.value",
        "gold.visitor_timeline.value",
        "gold.visitor_minutes.value",
        *(f"gold.persons.value_{days}" for days in AGES),
    ),
    ("silver.products.price", "gold.conversion_items.price", "gold.conversion_items.seen_price"),
    ("silver.products.cost", "gold.conversion_items.cost"),
)
"""Groups of columns with the same values. A declared mask of one applies to all."""

_DERIVED = {
    "session_id": ("visitor_id",),
    "continues": ("session_id",),
    "touch_id": ("session_id", "event_id"),
    "conversion_id": ("order_id", "event_id", "refund_id"),
    "event_hash": ("event_id",),
    "row_hash": ("customer_id", "order_id"),
    "version_id": ("customer_id", "order_id"),
    "customer_version_id": ("customer_id",),
    "shop_version_id": ("order_id",),
    "order_hash": ("order_id",),
    "person_hash": ("person_id",),
    "entry_id": ("event_id", "customer_id", "order_id"),
    "bucket": ("visitor_id",),
    "uid_hash": ("event_id", "visitor_id", "user_id"),
    "identity_hash": ("visitor_id", "user_id"),
    "gold.sketches.visitors": ("visitor_id",),
    "gold.sketches.order_values": ("gold.conversions.value",),
    "gold.conversion_items.margin": ("gold.conversion_items.price", "gold.conversion_items.cost"),
    "shown_products": ("product_id",),
    "clicked_products": ("product_id",),
    "sent_names": ("silver.cost_records.campaign_name", "silver.campaign_costs.campaign_name"),
}
"""By column, the columns that its values are computed from: it could be used to check guesses of these."""

_WHOLE_RECORDS = (
    "bronze.kafka_records.key",
    "bronze.kafka_records.value",
    "bronze.kafka_records.headers",
    "silver.events.properties",
    "custom_dimensions",
    "gold.dimension_performance.value",
    "gold.funnel_by_dimension.value",
    "silver.events.unread_value",
    "silver.rejected_events.value",
    "silver.rejected_changes.value",
    "row",
    "row_key",
    "ops.reads.subject",
)
"""Unparsed text and bytes from clients, and queries of readers. Any mask extends to these columns."""


def extend(masks: Mapping[Place, Mask], tables: Iterable[Table]) -> dict[Place, Mask]:
    """Extend masks to the columns that would reveal masked values.

    Args:
        masks: as declared, by table and column.
        tables: the tables that the role sees.

    Returns:
        The masks by table and column; declared masks are unchanged.
    """
    columns = {(table.name, column.name): (table, column) for table in tables for column in table.columns}
    found = dict(masks)
    for place, (table, column) in columns.items():
        if place not in masks and (mask := _of_same_values(place, masks)):
            found[place] = _possible(mask, table, column)
    while more := _following(found, columns):
        found |= more
    return found


def _of_same_values(place: Place, masks: Mapping[Place, Mask]) -> Mask | None:
    """The declared mask of a column with the same values: the first in the group, so all get the same."""
    for group in _SAME_VALUES:
        for same in group if _is_one_of(place, group) else ():
            if mask := next((masks[each] for each in sorted(masks) if _is_one_of(each, (same,))), None):
                return mask
    return None


def _following(masks: Mapping[Place, Mask], columns: Columns) -> dict[Place, Mask]:
    """Masks that unmasked columns inherit from other columns in one step."""
    found: dict[Place, Mask] = {}
    for place, (table, column) in columns.items():
        if place not in masks and (mask := _inherited(place, column, masks, columns)):
            found[place] = _possible(mask, table, column)
    return found


def _inherited(place: Place, column: Column, masks: Mapping[Place, Mask], columns: Columns) -> Mask | None:
    for derived, sources in _DERIVED.items():
        if _is_one_of(place, (derived,)) and any(_is_one_of(each, sources) for each in masks):
            return Mask.HASH
    parts = [each for each in masks if not _is_one_of(each, _WHOLE_RECORDS)]
    texts = {name for table, name in parts if columns[table, name][1].type == "string"}
    if (masks and _is_one_of(place, _WHOLE_RECORDS)) or (texts and column.name in _ADDRESSES):
        return Mask.NULL
    names = texts | {name for table, name in masks if table == place[0]}
    return Mask.NULL if names.intersection(_fields(column.type)) else None


def _possible(mask: Mask, table: Table, column: Column) -> Mask:
    """The mask that a column allows: text in a key is hashed, and only text can be hashed."""
    if column.type == "string":
        return Mask.HASH if column.name in table.key else mask
    return Mask.NULL if mask is Mask.HASH else mask


def _is_one_of(place: Place, names: Iterable[str]) -> bool:
    table, column = place
    return any(name in (column, f"{table}.{column}") for name in names)


def _fields(type_: str) -> list[str]:
    """Names of the fields of a nested type."""
    return re.findall(r"(\w+):", type_)
