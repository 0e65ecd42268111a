"""Shown results: a row for each search and each place in the list that it led to."""

from lakehouse.contracts.table import TWO_WRITERS, Column, Table

SEARCH_RESULTS = Table(
    name="silver.search_results",
    grain="search × result",
    key=("search_event_id", "rank"),
    columns=(
        Column("search_event_id", "string", "UID of the search"),
        Column("visitor_id", "string", "who searched"),
        Column("query", "string", "words searched for"),
        Column("event_time", "timestamp", "time of the search"),
        Column("rank", "int", "place in the list of results, from 1"),
        Column("product_id", "string", "product shown there; null if the list names none"),
        Column("outcome", "string", "clicked, unclicked or open (may be clicked in time yet)"),
        Column("first_click_at", "timestamp", "time of the first click; a product's lowest rank has it"),
        Column("is_open", "boolean", "the outcome is open"),
        Column("due_at", "timestamp", "watermark at which it is unclicked; null if it is no longer open"),
    ),
    event_time="event_time",
    is_mutable=True,
    partitioned_by=("is_open",),
    properties=TWO_WRITERS,
)
