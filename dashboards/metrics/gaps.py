"""Data quality: what the events that have arrived lack for attribution."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
from query_scope import Scope
from tables.query import Measure, Query, Where
from tables.table_cache import Ask

from millrace.explain.gap_kinds import KINDS, REASONS, TAGGED_LINK, is_unfilled

Row = dict[str, Any]

_USERS = 2000  # of server events that are compared: the latest
_CAMPAIGNS = 5000  # of tagged links that are checked: the most frequent
_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name", "campaign_id")
_INSTANT = timedelta(microseconds=1)
_EVENTS, _REFUSED, _CONVERSIONS = "silver.events", "silver.rejected_events", "gold.conversions"
_TIMES = {_EVENTS: "event_time", _REFUSED: "arrival_time", _CONVERSIONS: "converted_at"}
_COLUMNS = {
    "kind": pl.String,
    "what": pl.String,
    "count": pl.Int64,
    "share": pl.Float64,
    "of": pl.String,
    "advice": pl.String,
    "example": pl.String,
    "sent": pl.String,
    "first": pl.Date,
    "latest": pl.Date,
}


@dataclass(frozen=True)
class Goals:
    """The goals that have a value.

    Attributes:
        orders: those with a value of 0 or more.
        refunds: those whose value is negated.
    """

    orders: tuple[str, ...]
    refunds: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Both."""
        return self.orders + self.refunds


@dataclass(frozen=True)
class _Rule:
    """How a kind is found in one table.

    Attributes:
        table: the table.
        of: the rows among which it is found, as a plural.
        among: the conditions of these rows.
        lacks: further conditions of those that lack something.
        sent: the column with what was sent.
    """

    table: str
    of: str
    among: Callable[[Goals], tuple[Where, ...]]
    lacks: tuple[Where, ...]
    sent: str | None = None


def _all(_: Goals) -> tuple[Where, ...]:
    return ()


def _with_value(goals: Goals) -> tuple[Where, ...]:
    return (Where("goal", "in", goals.all),)


def _orders(goals: Goals) -> tuple[Where, ...]:
    return (Where("goal", "in", goals.orders),)


def _refunds(goals: Goals) -> tuple[Where, ...]:
    return (Where("goal", "in", goals.refunds),)


def _amounts(_: Goals) -> tuple[Where, ...]:
    return (Where("value", "not null"),)


_NO_VALUE, _NO_REPORTING_VALUE = Where("value", "null"), Where("reporting_value", "null")
_UNREADABLE = (_NO_VALUE, Where("unread_value", "not null"))
_TAGGED = Where("url", "matches", TAGGED_LINK)
_OF_SERVERS = (Where("is_server_event", "=", True), Where("type", "=", "track"))
_RULES = {
    "unreadable_refund": _Rule(_EVENTS, "refunds", _refunds, _UNREADABLE, "unread_value"),
    "unreadable_value": _Rule(_EVENTS, "orders", _orders, _UNREADABLE, "unread_value"),
    "no_value": _Rule(_EVENTS, "orders and refunds", _with_value, (_NO_VALUE, Where("unread_value", "null"))),
    "no_currency": _Rule(_CONVERSIONS, "amounts", _amounts, (_NO_REPORTING_VALUE, Where("currency", "null"))),
    "no_rate": _Rule(
        _CONVERSIONS,
        "amounts",
        _amounts,
        (_NO_REPORTING_VALUE, Where("currency", "not null")),
        "currency",
    ),
    "negative_value": _Rule(_EVENTS, "orders", _orders, (Where("value", "<", 0),), "value"),
    "unreadable_time": _Rule(_EVENTS, "events", _all, (Where("unread_time", "not null"),), "unread_time"),
    "no_time": _Rule(
        _EVENTS,
        "events",
        _all,
        (Where("time_source", "=", "arrival"), Where("device_time", "null"), Where("unread_time", "null")),
    ),
}
_NEEDED = {
    **{
        kind: {
            f"{rule.table}.{name}"
            for name in (
                _TIMES[rule.table],
                *(where.column for where in (*rule.among(Goals((), ())), *rule.lacks)),
            )
        }
        for kind, rule in _RULES.items()
    },
    "refused": {f"{_REFUSED}.{name}" for name in ("arrival_time", "reason")},
    "unreadable_link": {f"{_EVENTS}.{name}" for name in ("event_time", "url", *_CAMPAIGN)},
    "unknown_user": {
        *(f"{_EVENTS}.{name}" for name in ("event_time", "is_server_event", "type", "user_id")),
        *(f"silver.identities.{name}" for name in ("user_id", "visitor_id")),
    },
}
"""By kind, the columns that it is found by."""


def gaps(ask: Ask, scope: Scope, goals: Goals, unseen: frozenset[str]) -> pl.DataFrame:
    """What rows of the period lack, the costliest first.

    Args:
        ask: runs a query.
        scope: the period: by event time, of refused records by arrival.
        goals: those that have a value.
        unseen: columns that the viewer does not see as they are, as `layer.table.column`. Kinds that follow
            from one of them are left out.

    Returns:
        A row for each kind found, and for each reason of refused records: kind, what, count, share, of (what
        it is a share of), advice, example (UID of one of the latest; of a record topic/partition/offset),
        sent (what was sent there), first and latest day (UTC). Of the users of server events, the 2,000 seen
        last are compared.
    """
    rows: list[Row] = []
    for kind in _seen(unseen):
        found = _special(ask, scope, kind) if kind not in _RULES else _by_rule(ask, scope, goals, kind)
        rows += (
            {"kind": kind, "what": KINDS[kind].what, "advice": KINDS[kind].advice, **row} for row in found
        )
    return pl.DataFrame(rows, _COLUMNS)


def kinds_unseen(unseen: frozenset[str]) -> list[str]:
    """The kinds that cannot be found without some columns, the costliest first."""
    seen = _seen(unseen)
    return [kind for kind in KINDS if kind in _NEEDED and kind not in seen]


def tables_read() -> tuple[str, ...]:
    """The tables that kinds are found in."""
    return tuple(sorted({column.rpartition(".")[0] for columns in _NEEDED.values() for column in columns}))


def _seen(unseen: frozenset[str]) -> list[str]:
    return [kind for kind in KINDS if kind in _NEEDED and not _NEEDED[kind] & unseen]


def _special(ask: Ask, scope: Scope, kind: str) -> Iterator[Row]:
    return {"refused": _refused, "unreadable_link": _links, "unknown_user": _unknown_users}[kind](ask, scope)


def _by_rule(ask: Ask, scope: Scope, goals: Goals, kind: str) -> Iterator[Row]:
    rule = _RULES[kind]
    among = _within(scope, Query(rule.table, where=rule.among(goals)))
    lacking = replace(among, where=(*among.where, *rule.lacks))
    count, first, latest = ask(_count(lacking)).row(0)
    if count:
        example = _example(ask, lacking, latest, rule.sent)
        yield _row(count, _total(ask, among), rule.of, first, latest) | example


def _refused(ask: Ask, scope: Scope) -> Iterator[Row]:
    query = _within(scope, Query(_REFUSED))
    by_reason = ask(replace(_count(query), columns=("reason",), order=("-count", "reason"))).rows()
    if not by_reason:
        return
    events = _total(ask, _within(scope, Query(_EVENTS)))
    records = events + sum(count for _, count, *_ in by_reason)
    for reason, count, first, latest in by_reason:
        place = ("topic", "partition", "offset")
        asked = _at(query.only("reason", "=", reason), latest)
        found = ask(replace(asked, columns=place, order=place, limit=1)).row(0)
        advice = {"advice": REASONS[reason]} if reason in REASONS else {}
        yield {
            **_row(count, records, "records", first, latest),
            **advice,
            "what": f"{KINDS['refused'].what}: {reason}",
            "example": "/".join(map(str, found)),
        }


def _links(ask: Ask, scope: Scope) -> Iterator[Row]:
    """Tagged links of which no field was read, or a field that the sender has not filled in."""
    tagged = _within(scope, Query(_EVENTS, where=(_TAGGED,)))
    none = replace(tagged, where=(*tagged.where, *(Where(name, "null") for name in _CAMPAIGN)))
    order = ("-count", *_CAMPAIGN)
    by_campaign = ask(replace(_count(tagged), columns=_CAMPAIGN, order=order, limit=_CAMPAIGNS))
    counted = [(none, *ask(_count(none)).row(0))]
    for *fields, count, first, latest in by_campaign.rows():
        if any(is_unfilled(field) for field in fields if field):
            counted.append((_of_campaign(tagged, fields), count, first, latest))
    found = [each for each in counted if each[1]]
    if found:
        query, _, _, latest = max(found, key=lambda each: each[3])
        count, first = sum(each[1] for each in found), min(each[2] for each in found)
        row = _row(count, _total(ask, tagged), "events on tagged links", first, latest)
        yield row | _example(ask, query, latest, "url")


def _of_campaign(query: Query, fields: list[str | None]) -> Query:
    same = (
        Where(name, "null") if field is None else Where(name, "=", field)
        for name, field in zip(_CAMPAIGN, fields, strict=True)
    )
    return replace(query, where=(*query.where, *same))


def _unknown_users(ask: Ask, scope: Scope) -> Iterator[Row]:
    """Server events of users that no other visitor has logged in as, at any time."""
    events = _within(scope, Query(_EVENTS, where=(*_OF_SERVERS, Where("user_id", "not null"))))
    order = ("-latest", "user_id")
    by_user = ask(replace(_count(events), columns=("user_id",), order=order, limit=_USERS))
    known = _known_users(ask, tuple(sorted(by_user["user_id"])))
    unknown = by_user.filter(~pl.col("user_id").is_in(known))
    if unknown.is_empty():
        return
    user, _, _, latest = unknown.row(0)
    first = unknown["first"].min()
    of = "server events" if by_user.height < _USERS else f"server events of the {_USERS:,} users seen last"
    row = _row(unknown["count"].sum(), by_user["count"].sum(), of, first, latest)
    yield row | _example(ask, events.only("user_id", "=", user), latest, "user_id")


def _known_users(ask: Ask, users: tuple[str, ...]) -> list[str]:
    """The users that a visitor with an id of its own has logged in as."""
    ends = (Measure("least", "min", "visitor_id"), Measure("greatest", "max", "visitor_id"))
    query = Query("silver.identities", ("user_id",), ends).only("user_id", "in", users)
    return [user for user, least, greatest in ask(query).rows() if not user == least == greatest]


def _within(scope: Scope, query: Query) -> Query:
    return scope.within(query, _TIMES[query.table])


def _count(query: Query) -> Query:
    time = _TIMES[query.table]
    ends = (Measure("first", "min", time), Measure("latest", "max", time))
    return replace(query, measures=(Measure("count", "count"), *ends))


def _total(ask: Ask, query: Query) -> int:
    return int(ask(replace(query, measures=(Measure("count", "count"),))).item())


def _at(query: Query, at: datetime) -> Query:
    return query.within(_TIMES[query.table], at, at + _INSTANT)


def _row(count: int, total: int, of: str, first: datetime, latest: datetime) -> Row:
    days = {"first": first.date(), "latest": latest.date()}
    return {"count": count, "share": count / total, "of": of, **days}


def _example(ask: Ask, query: Query, latest: datetime, sent: str | None) -> Row:
    """One of the latest rows, and what was sent there."""
    columns = ("event_id",) if sent is None else ("event_id", sent)
    found = ask(replace(_at(query, latest), columns=columns, order=("event_id",), limit=1)).row(0)
    return {"example": found[0], "sent": None if sent is None else _as_text(found[1])}


def _as_text(value: str | Decimal | None) -> str | None:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value
