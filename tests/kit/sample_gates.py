"""Generated rows of ops.expectations and ops.gates."""

from datetime import datetime, timedelta
from typing import Any

Row = dict[str, Any]

_EXPECTED = (
    ("silver.events", "expect_column_values_to_not_be_null", "event_id", "stop"),
    ("silver.events", "expect_column_values_to_be_unique", "event_id", "stop"),
    ("silver.events", "expect_column_values_to_be_in_set", "role", "stop"),
    ("silver.events", "expect_column_values_to_match_regex", "currency", "warn"),
    ("silver.sessions", "expect_column_pair_values_a_to_be_greater_than_b", "ended_at", "stop"),
    ("silver.sessions", "expect_column_values_to_not_be_null", "channel", "stop"),
    ("silver.impressions", "expect_column_values_to_be_in_set", "outcome", "stop"),
    ("gold.attribution", "expect_column_values_to_be_between", "credit", "stop"),
    ("gold.conversions", "expect_column_values_to_not_be_null", "reporting_value", "warn"),
)


def expectation_rows(until: datetime, days: float, closed: bool = False) -> list[Row]:
    """Runs of expectations every few hours. Some warnings fail. `closed`: the last run closes the gate."""
    rows = []
    every = timedelta(days=days) / 24
    for number in range(24):
        at = until - every * (23 - number) - timedelta(minutes=3)
        for place, (table, expectation, column, severity) in enumerate(_EXPECTED):
            failed = severity == "warn" and (number * 7 + place) % 11 == 0
            failed |= closed and number == 23 and place == 2
            rows.append(
                {
                    "run_id": f"run-{number:03}",
                    "table": table,
                    "expectation": expectation,
                    "column": column,
                    "success": not failed,
                    "severity": severity,
                    "observed": 0.0125 if failed else 0.0,
                    "unexpected_count": 37 if failed else 0,
                    "run_at": at,
                }
            )
    return rows


def gate_rows(at: datetime, *states: str) -> list[Row]:
    """State changes of the gate; the last is the current state."""
    return [
        {"sequence": number, "state": state, "reasons": ["events have a known role"], "at": at}
        for number, state in enumerate(states)
    ]
