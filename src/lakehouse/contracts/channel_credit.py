"""Gold: credit of channels by data-driven attribution models."""

from lakehouse.contracts.table import Column, Table

CHANNEL_CREDIT = Table(
    name="gold.channel_credit",
    grain="period × model × channel",
    summary="the credit of a channel by markov or shapley, in a calendar month or the last 30 days",
    inputs=(
        "gold.touches",
        "gold.conversions",
        "silver.identities",
    ),
    writer="attribution-model",
    cadence="schedule",
    key=("period_start", "period_end", "model", "channel"),
    columns=(
        Column("period_start", "timestamp", "start, included"),
        Column("period_end", "timestamp", "end, excluded"),
        Column("model", "string", "markov or shapley"),
        Column("channel", "string", "channel of touches"),
        Column("conversions", "double", "conversions credited"),
        Column("reporting_value", "decimal(18,4)", "money credited; null if more than fits"),
        Column("model_version", "string", "version of the model in the registry", provenance=True),
    ),
    event_time="period_start",
)

TABLES = (CHANNEL_CREDIT,)
