"""Silver: the shop's database as dimensions with their history."""

from dataclasses import dataclass

from lakehouse.contracts.table import Column, Table

SHOP_CHANGES = Table(
    name="silver.shop_changes",
    grain="change of a row of the shop's database, as sent",
    summary="a change of a row, or of all rows of a table, with its place in the write-ahead log",
    inputs=("bronze.kafka_records",),
    writer="dimensions",
    key=("topic", "partition", "offset"),
    columns=(
        Column("source", "string", "database by its name in conf/shop.yml"),
        Column("source_table", "string", "table with schema"),
        Column("row_key", "string", "primary key as JSON; null for a truncate"),
        Column("kind", "string", "insert, update, delete, truncate or snapshot"),
        Column("lsn", "bigint", "position of the commit in the write-ahead log, or of the snapshot"),
        Column("sequence", "int", "place among the changes of the commit"),
        Column("transaction_id", "bigint", "number of the transaction; 0 for a snapshot"),
        Column("committed_at", "timestamp", "time of the commit, or of the snapshot"),
        Column("row", "string", "the new row as JSON, values as text; null for a delete or truncate"),
        Column("unchanged", "array<string>", "columns that the change left as they were, and lacks"),
        Column("row_hash", "bigint", "hash of source, table and key; null for a truncate"),
        Column("topic", "string", "Kafka topic", provenance=True),
        Column("partition", "int", "Kafka partition", provenance=True),
        Column("offset", "bigint", "Kafka offset", provenance=True),
        Column("ingested_at", "timestamp", "stamp of the bronze micro-batch", provenance=True),
    ),
    event_time="committed_at",
)

REJECTED_CHANGES = Table(
    name="silver.rejected_changes",
    grain="rejected record of the topic of shop changes",
    summary="a record of the topic of shop changes that is no change, with the reason",
    inputs=("bronze.kafka_records",),
    writer="dimensions",
    key=("topic", "partition", "offset"),
    columns=(
        Column("reason", "string", "empty, not_json or bad_change"),
        Column("value", "binary", "value, byte for byte"),
        Column("topic", "string", "Kafka topic", provenance=True),
        Column("partition", "int", "Kafka partition", provenance=True),
        Column("offset", "bigint", "Kafka offset", provenance=True),
        Column("ingested_at", "timestamp", "stamp of the bronze micro-batch", provenance=True),
    ),
)


@dataclass(frozen=True)
class Dimension(Table):
    """A table with the history of rows of the shop's database (slowly changing, type 2).

    Attributes:
        attributes: columns that conf/shop.yml maps.
    """

    attributes: tuple[str, ...] = ()


def _dimension(name: str, grain: str, *attributes: Column) -> Dimension:
    return Dimension(
        name=f"silver.{name}",
        grain=f"{grain} × version",
        summary=f"a version of one {grain} of the shop's database, and when it was valid",
        inputs=(SHOP_CHANGES.name,),
        writer="dimensions",
        key=("version_id",),
        columns=(
            Column("version_id", "string", "derived from source, table, key and lsn"),
            *attributes,
            Column("valid_from", "timestamp", "start, included; null if it was so before the first snapshot"),
            Column("valid_to", "timestamp", "end, excluded; null if it is so now"),
            Column("changed_at", "timestamp", "time of the commit or snapshot that it is from"),
            Column("row", "string", "all columns of the row as JSON, values as text"),
            Column("source", "string", "database by its name in conf/shop.yml"),
            Column("source_table", "string", "table with schema"),
            Column("row_key", "string", "primary key as JSON"),
            Column("lsn", "bigint", "position of the commit in the write-ahead log, or of the snapshot"),
            Column("rules_version", "string", "version of the rules that it follows", provenance=True),
            Column(
                "ingested_at",
                "timestamp",
                "latest stamp of the changes that make and end it",
                provenance=True,
            ),
        ),
        event_time="changed_at",
        attributes=tuple(column.name for column in attributes),
    )


CUSTOMERS = _dimension(
    "customers",
    "customer",
    Column("customer_id", "string", "as events have it in `userId`"),
    Column("plan", "string", "plan or tier"),
    Column("country", "string", "country"),
)
PRODUCTS = _dimension(
    "products",
    "product",
    Column("product_id", "string", "as events have it in `product_id`"),
    Column("name", "string", "name"),
    Column("category", "string", "category"),
    Column("price", "decimal(18,4)", "price, in `currency`"),
    Column("cost", "decimal(18,4)", "what the product costs the shop, in `currency`"),
    Column("currency", "string", "ISO 4217 code"),
)
CAMPAIGNS = _dimension(
    "campaigns",
    "campaign",
    Column("campaign_name", "string", "as events have it in `utm_campaign`"),
    Column("objective", "string", "what the campaign is for"),
    Column("budget", "decimal(18,4)", "budget, in `currency`"),
    Column("currency", "string", "ISO 4217 code"),
)
ORDERS = _dimension(
    "orders",
    "order",
    Column("order_id", "string", "as events have it in `order_id`"),
    Column("customer_id", "string", "customer"),
    Column("status", "string", "status"),
    Column("value", "decimal(18,4)", "value, in `currency`"),
    Column("currency", "string", "ISO 4217 code"),
)

DIMENSIONS = {table.name: table for table in (CUSTOMERS, PRODUCTS, CAMPAIGNS, ORDERS)}

TABLES = (SHOP_CHANGES, REJECTED_CHANGES, *DIMENSIONS.values())
