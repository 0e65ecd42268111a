"""Silver: exposures (impressions and searches) and the results of searches."""

from lakehouse.contracts.table import TWO_WRITERS, Column, Table

_OUTCOME = (
    Column("outcome", "string", "clicked, unclicked, open (may be clicked in time yet) or orphan"),
    Column("first_click_at", "timestamp", "time of the first counted click"),
    Column("clicks", "bigint", "counted clicks"),
)
_STILL_OPEN = (
    Column("is_open", "boolean", "an event on time may still change the row"),
    Column("due_at", "timestamp", "watermark that changes it next, without any event; null if none will"),
)
_PIECE = "at: bigint, is_click: boolean, event_id: string"

IMPRESSIONS = Table(
    name="silver.impressions",
    grain="impression, or orphan click",
    summary="a promotion that was shown, with its clicks; or a click without an impression",
    inputs=("silver.events",),
    writer="refine",
    key=("event_id",),
    columns=(
        Column("event_id", "string", "UID of the impression, or of the click that belongs to none"),
        Column("visitor_id", "string", "who saw or clicked it"),
        Column("promotion_id", "string", "promotion seen or clicked"),
        Column("event_time", "timestamp", "time of that event"),
        *_OUTCOME,
        *_STILL_OPEN,
        Column(
            "made_of", f"array<struct<{_PIECE}>>", "its events, uncounted clicks too; `at` in microseconds"
        ),
    ),
    event_time="event_time",
    is_mutable=True,
    partitioned_by=("is_open",),
    properties=TWO_WRITERS,
)

SEARCHES = Table(
    name="silver.searches",
    grain="search, or orphan click on a result",
    summary="a search, with clicks on its results; or a click without a search",
    inputs=("silver.events",),
    writer="refine",
    key=("event_id",),
    columns=(
        Column("event_id", "string", "UID of the search, or of the result click that belongs to none"),
        Column("visitor_id", "string", "who searched or clicked"),
        Column("query", "string", "words searched for; null for an orphan"),
        Column("event_time", "timestamp", "time of that event"),
        *_OUTCOME,
        Column("clicked_products", "array<string>", "products of its clicks, in order of the clicks"),
        *_STILL_OPEN,
        Column(
            "made_of",
            f"array<struct<{_PIECE}, query: string, product_id: string>>",
            "its events; `at` in microseconds",
        ),
    ),
    event_time="event_time",
    is_mutable=True,
    partitioned_by=("is_open",),
    properties=TWO_WRITERS,
)

SEARCH_RESULTS = Table(
    name="silver.search_results",
    grain="search × result",
    summary="a product in the results of a search, with its rank and whether it was clicked",
    inputs=("silver.events",),
    writer="refine",
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
