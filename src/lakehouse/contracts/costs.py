"""Silver: costs of campaigns, as sent and as they count."""

from lakehouse.contracts.table import Column, Table

_CAMPAIGN = {"source": "utm_source", "medium": "utm_medium", "name": "utm_campaign"}

COST_RECORDS = Table(
    name="silver.cost_records",
    grain="record",
    summary="a row of a cost file, as sent, and the load that it belongs to",
    inputs=("bronze.kafka_records",),
    writer="refine",
    key=("topic", "partition", "offset"),
    columns=(
        Column("platform", "string", "mapping of conf/costs.yml that read the file, as google-ads"),
        Column("account", "string", "account at the platform"),
        Column("day", "date", "day of the cost, as the platform counts days"),
        Column("campaign_source", "string", "campaign's source"),
        Column("campaign_medium", "string", "campaign's medium"),
        Column("campaign_name", "string", "campaign's name in the file"),
        Column("ad_group", "string", "ad group or ad set"),
        Column("cost", "decimal(18,4)", "money spent, in `currency`; negative for a credit note"),
        Column("currency", "string", "ISO 4217 code, in capitals"),
        Column("clicks", "bigint", "clicks that the platform counted"),
        Column("impressions", "bigint", "impressions that the platform counted"),
        Column("loaded_at", "timestamp", "when the file was loaded; of a day, the latest load counts"),
        Column("load_id", "string", "hash of the file's content"),
        Column("load_row", "int", "number of the row among the load's rows of this day, from 1"),
        Column("load_rows", "int", "rows of this day in the load; it counts once all of them are here"),
        Column("topic", "string", "Kafka topic", provenance=True),
        Column("partition", "int", "Kafka partition", provenance=True),
        Column("offset", "bigint", "Kafka offset", provenance=True),
        Column("ingested_at", "timestamp", "stamp of the bronze micro-batch", provenance=True),
    ),
    event_time="day",
)

CAMPAIGN_COSTS = Table(
    name="silver.campaign_costs",
    grain="platform × account × day × campaign × currency",
    summary="a day's cost of a campaign by the latest load of the day, as billed and as reported",
    inputs=("silver.cost_records", "silver.exchange_rates"),
    writer="refine",
    key=(
        *("platform", "account", "day"),
        *(f"campaign_{part}" for part in _CAMPAIGN),
        "currency",
    ),
    columns=(
        Column("platform", "string", "mapping of conf/costs.yml that read the file, as google-ads"),
        Column("account", "string", "account at the platform"),
        Column("day", "date", "day of the cost, as the platform counts days"),
        *(
            Column(f"campaign_{part}", "string", f"campaign's {part}, as visits have it in {utm}")
            for part, utm in _CAMPAIGN.items()
        ),
        Column("sent_names", "array<string>", "names of the campaign in the file, sorted"),
        Column("cost", "decimal(18,4)", "money spent, in `currency`; null if more than fits"),
        Column("currency", "string", "ISO 4217 code, in capitals"),
        Column("reporting_cost", "decimal(18,4)", "the same in the reporting currency; null without a rate"),
        Column("rate_valid_from", "timestamp", "start of that rate; null if none was needed or known"),
        Column("clicks", "bigint", "clicks that the platform counted"),
        Column("impressions", "bigint", "impressions that the platform counted"),
        Column("loaded_at", "timestamp", "when the file that counts was loaded"),
        Column("load_id", "string", "hash of that file's content"),
        Column("rules_version", "string", "version of the rules that it follows", provenance=True),
        Column("ingested_at", "timestamp", "ingest stamp of the input behind it", provenance=True),
    ),
    event_time="day",
)
