"""Gold: people by their first touch, whether they came back, and what they were worth."""

from lakehouse.contracts.table import Column, Table

AGES = (7, 30, 90)
"""Days after the first touch."""

PERSONS = Table(
    name="gold.persons",
    grain="person",
    summary="a person: the first touch, and returns and value in the days after it",
    inputs=(
        "silver.sessions",
        "silver.identities",
        "silver.bots",
        "silver.consents",
        "gold.touches",
        "gold.conversions",
    ),
    writer="publish",
    cadence="summary",
    key=("person_hash",),
    columns=(
        Column("person_hash", "string", "derived from person_id"),
        Column("person_id", "string", "who, by identity"),
        Column("first_touch_at", "timestamp", "the first touch; without one, the first conversion"),
        Column("cohort_week", "date", "Monday of the first touch's week, in the business time zone"),
        Column("channel", "string", "channel of the first touch; Direct without one"),
        *(
            Column(f"campaign_{part}", "string", f"campaign's {part} of the first touch")
            for part in ("source", "medium", "name")
        ),
        *(
            Column(f"returns_{days}", "bigint", f"sessions on later days, less than {days} days after it")
            for days in AGES
        ),
        *(
            Column(
                f"value_{days}",
                "decimal(18,4)",
                f"money in the reporting currency until {days} days after it, less refunds until then",
            )
            for days in AGES
        ),
    ),
    event_time="first_touch_at",
    is_mutable=True,
)
