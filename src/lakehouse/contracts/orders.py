"""Gold: orders of events and orders of the shop's database, compared."""

from lakehouse.contracts.table import Column, Table

ORDER_COMPARISONS = Table(
    name="gold.order_comparisons",
    grain="order",
    summary="an order as events and as the shop's database have it, and how they differ",
    inputs=("silver.events", "silver.orders"),
    writer="publish",
    cadence="summary",
    key=("order_hash",),
    columns=(
        Column("order_hash", "string", "derived from order_id"),
        Column("order_id", "string", "order"),
        Column("day", "date", "day of `ordered_at` in the business time zone"),
        Column("ordered_at", "timestamp", "time of the first event; without one, since when the shop has it"),
        Column(
            "difference",
            "string",
            "no event, not in the shop, several events, other currency or other value; null if they agree",
        ),
        Column("is_older", "boolean", "in the first snapshot, without an event: older than the tracking"),
        Column("person_id", "string", "customer in the shop; without one, the user of the first event"),
        Column("events", "bigint", "events of this order, copies aside"),
        Column("value", "decimal(18,4)", "value by the first event, in `currency`"),
        Column("currency", "string", "ISO 4217 code by the first event"),
        Column("shop_value", "decimal(18,4)", "value in the shop now, in `shop_currency`"),
        Column("shop_currency", "string", "ISO 4217 code in the shop now"),
        Column("status", "string", "status in the shop now"),
        Column("shop_version_id", "string", "version of silver.orders that is current; null without one"),
    ),
    event_time="ordered_at",
    is_mutable=True,
)

NO_EVENT, NOT_IN_SHOP, SEVERAL = "no event", "not in the shop", "several events"
OTHER_CURRENCY, OTHER_VALUE = "other currency", "other value"
DIFFERENCES = (NO_EVENT, NOT_IN_SHOP, SEVERAL, OTHER_CURRENCY, OTHER_VALUE)
