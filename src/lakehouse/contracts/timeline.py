"""Gold: what a visitor did, and what the shop's database says of its customer, in one table."""

from zlib import crc32

from lakehouse.contracts.table import Column, Table

BUCKETS = 16
EVENT, CUSTOMER, ORDER = "event", "customer", "order"

VISITOR_TIMELINE = Table(
    name="gold.visitor_timeline",
    grain="visitor × event or version",
    summary="an event of a visitor, or a version of its customer or of one of the customer's orders",
    inputs=("silver.events", "silver.identities", "silver.customers", "silver.orders"),
    writer="publish",
    cadence="summary",
    key=("visitor_id", "entry_id"),
    columns=(
        Column("bucket", "int", f"CRC-32 of visitor_id modulo {BUCKETS}"),
        Column("visitor_id", "string", "who"),
        Column("entry_id", "string", "UID of the event, or version_id"),
        Column("at", "timestamp", "time of the event, or of the commit in the shop's database"),
        Column("kind", "string", f"{EVENT}, {CUSTOMER} or {ORDER}"),
        Column("role", "string", "role of the event"),
        Column("name", "string", "name or type of the event, plan of the customer, status of the order"),
        Column("url", "string", "address of the event"),
        Column("user_id", "string", "user of the event; the customer"),
        Column("order_id", "string", "order"),
        Column("value", "decimal(18,4)", "value, in `currency`"),
        Column("currency", "string", "ISO 4217 code"),
        Column("valid_to", "timestamp", "end of the version; null of events, and if it is so now"),
    ),
    event_time="at",
    partitioned_by=("bucket",),
    stats_columns=("at",),
    is_mutable=True,
)


def bucket_of(visitor_id: str) -> int:
    """The bucket, and so the partition, of a visitor."""
    return crc32(visitor_id.encode()) % BUCKETS
