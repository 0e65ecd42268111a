"""Gold: conversions with the customer and the products of the shop's database."""

from lakehouse.contracts.table import Column, Table

CONVERSION_ITEMS = Table(
    name="gold.conversion_items",
    grain="conversion × product",
    summary="a product of a conversion that counts, or the conversion itself,"
    " with customer and product as of then",
    inputs=("silver.events", "silver.customers", "silver.products", "gold.conversions", "gold.trails"),
    writer="publish",
    cadence="summary",
    key=("conversion_id", "line"),
    columns=(
        Column("conversion_id", "string", "which conversion"),
        Column("line", "int", "place of the product in the event, from 1; 0 if the event names none"),
        Column("converted_at", "timestamp", "when the conversion was"),
        Column("person_id", "string", "who reached the goal; the customer's id"),
        Column("customer_version_id", "string", "version of the customer at that time; null if unknown"),
        Column("plan", "string", "plan of the customer at that time"),
        Column("country", "string", "country of the customer at that time"),
        Column("product_id", "string", "product"),
        Column("quantity", "bigint", "how many; null if the event does not say"),
        Column("product_version_id", "string", "version of the product at that time; null if unknown"),
        Column("category", "string", "category of the product at that time"),
        Column("price", "decimal(18,4)", "price of the product at that time, in `currency`"),
        Column("cost", "decimal(18,4)", "cost of the product at that time, in `currency`"),
        Column("margin", "decimal(18,4)", "price less cost"),
        Column("currency", "string", "ISO 4217 code"),
        Column("seen_at", "timestamp", "time of the latest impression in the conversion's trail"),
        Column("seen_version_id", "string", "version of the product at the impression; null without either"),
        Column("seen_price", "decimal(18,4)", "price of the product at the impression"),
    ),
    event_time="converted_at",
    is_mutable=True,
)
