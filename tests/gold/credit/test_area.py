"""The spans that a micro-batch may change, without Spark: stretches, and sessions that continue others."""

from typing import Any

import pyarrow as pa

from folds.rule_numbers import RuleNumbers
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import Session
from gold.credit.area import _AreaFold
from kit.histories import fold_history
from kit.oracle_wire import DAY, MINUTE
from kit.visitor_stories import NOON, event, to_events
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.silver import SESSIONS
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.grouped import KEY, GroupedRows

RULES = VisitorRules.of(RuleNumbers())
SPAN = pa.struct([("low", pa.int64()), ("high", pa.int64())])
KINDS = {
    "moment": pa.struct([("event_time", pa.timestamp("us", tz="UTC"))]),
    "session": pa.struct([arrow_schema(SESSIONS).field(name) for name in Session._fields]),
    "exposure": SPAN,
    "bot": pa.struct([("visitor_id", pa.string())]),
}
BACK = {"has_internal_referrer": True}
EVENTS = [
    event(NOON, uid="0", channel="Email", campaign_medium="email"),
    event(NOON + DAY, uid="1", **BACK),
    event(NOON + 2 * DAY, uid="2", **BACK),
    event(NOON + 3 * DAY, uid="3", referrer="https://blog.example/", channel="Referral"),
]


def spans(moment: int, sessions: list[Session], exposures: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of visitor a that an event at a time may change: first and last minute, after noon."""
    rows: list[tuple[str, tuple[Any, ...]]] = [
        ("moment", (moment,)),
        *(("session", tuple(s)) for s in sessions),
    ]
    rows += [("exposure", each) for each in exposures]
    columns = [_column(rows, kind) for kind in KINDS]
    table = pa.table([pa.array(["a"] * len(rows)), *columns], [KEY, *KINDS])
    fold = _AreaFold(RULES.promotions.view_span, RULES.session_gap)
    batch = next(iter(fold(GroupedRows.of_union(in_micros(table)))))
    found = [span.as_py() for span in batch.column("span")]
    return sorted(((each["low"] - NOON) // MINUTE, (each["high"] - NOON) // MINUTE) for each in found if each)


def _column(rows: list[tuple[str, tuple[Any, ...]]], kind: str) -> pa.Array:
    theirs = [values if name == kind else (None,) * KINDS[kind].num_fields for name, values in rows]
    parts = transpose(theirs, list(KINDS[kind]))
    missing = pa.array([name != kind for name, _ in rows])
    return pa.StructArray.from_arrays(parts, fields=list(KINDS[kind]), mask=missing)


def test_moment_in_a_session_changes_the_sessions_that_continue_it() -> None:
    sessions = list(fold_history("a", to_events(EVENTS), RULES, 10**18).sessions)
    day = DAY // MINUTE
    assert spans(NOON, sessions, []) == [(0, 1), (day, day + 1), (2 * day, 2 * day + 1)]
    assert spans(NOON + DAY, sessions, []) == [(day, day + 1), (2 * day, 2 * day + 1)]
    assert spans(NOON + 3 * DAY, sessions, []) == [(3 * day, 3 * day + 1)]


def test_exposures_outside_sessions_extend_the_spans_of_continuing_sessions() -> None:
    sessions = list(fold_history("a", to_events(EVENTS[:2]), RULES, 10**18).sessions)
    at, day = NOON + DAY - 20 * MINUTE, DAY // MINUTE
    assert spans(NOON, sessions, [(at, at)]) == [(0, 1), (day - 20, day + 1)]
