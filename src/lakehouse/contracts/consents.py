"""Silver: what visitors have consented to."""

from lakehouse.contracts.table import Column, Table

PURPOSES = {
    "analytics": "events count in figures of visitors",
    "attribution": "events earn and make credit",
    "ads": "events may be used for advertising",
}
"""What visitors consent to."""

CONSENTS = Table(
    name="silver.consents",
    grain="visitor × span",
    summary="what a visitor has consented to in a span of time; without a row, the defaults hold",
    inputs=("silver.events",),
    writer="repair",
    key=("visitor_id", "event_id"),
    columns=(
        Column("visitor_id", "string", "whose consent"),
        Column("valid_from", "timestamp", "time of the first event; the year 1600: of all events before"),
        Column("event_id", "string", "UID of that event, for events of the same time; empty with 1600"),
        Column("valid_to", "timestamp", "time of the next span's first event; null in the last span"),
        Column("to_event_id", "string", "UID of the next span's first event"),
        *(Column(purpose, "boolean", f"granted: {use}") for purpose, use in PURPOSES.items()),
        Column("rules_version", "string", "version of the rules that it follows", provenance=True),
        Column("ingested_at", "timestamp", "ingest stamp of the input behind it", provenance=True),
    ),
    event_time="valid_from",
)
