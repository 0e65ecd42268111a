"""What events lack, on page Data quality: hand-made rows against a naive count in Python."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import metrics.gaps
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics.gaps import Goals, gaps, kinds_unseen, tables_read
from period import Period
from query_scope import Scope
from schema import COLUMNS
from tables.delta_backend import LocalTables
from tables.polars_query import ask_frame
from tables.query import Query
from tables.table_cache import Ask, Lake

from folds.records import parse
from kit.warehouse_builder import Row, build_warehouse, schema_of
from millrace.explain.gap_kinds import KINDS, REASONS

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SCOPE = Scope(Period(NOON, NOON + timedelta(days=2)))
GOALS = Goals(("Order Completed",), ("Order Refunded",))
SHOP = "https://shop.example/"
CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name", "campaign_id")
Tables = dict[str, list[Row]]


def event(uid: str, **more: Any) -> Row:
    """A page view that lacks nothing."""
    whole = {"event_id": uid, "type": "page", "event_time": NOON, "time_source": "corrected"}
    return {**whole, "device_time": NOON, "is_server_event": False, **more}


def order(uid: str, **more: Any) -> Row:
    whole = {"type": "track", "goal": "Order Completed", "value": Decimal(5)}
    return event(uid, **{**whole, **more})


def of_server(uid: str, user: str, **more: Any) -> Row:
    return order(uid, is_server_event=True, user_id=user, **more)


def conversion(uid: str, **more: Any) -> Row:
    whole = {"event_id": uid, "converted_at": NOON, "value": Decimal(5), "currency": "EUR"}
    return {**whole, "reporting_value": Decimal(5), **more}


def login(visitor: str, user: str) -> Row:
    return {"visitor_id": visitor, "user_id": user}


def ask_over(tables: Tables) -> Ask:
    frames = {
        name: pl.LazyFrame(
            [{column: row.get(column) for column in COLUMNS[name]} for row in tables.get(name, [])],
            {column: schema_of(name)[column] for column in COLUMNS[name]},
        )
        for name in tables_read()
    }
    return lambda query: ask_frame(frames[query.table], query).collect()


def found(tables: Tables, goals: Goals = GOALS, unseen: frozenset[str] = frozenset()) -> list[Row]:
    return gaps(ask_over(tables), SCOPE, goals, unseen).to_dicts()


COMPLETE: dict[str, Tables] = {
    "a page view": {"silver.events": [event("1")]},
    "an order": {"silver.events": [order("1")]},
    "an order of 0": {"silver.events": [order("1", value=Decimal(0))]},
    "a refund": {"silver.events": [order("1", goal="Order Refunded", value=Decimal(-5))]},
    "a value that was read in place of another": {"silver.events": [order("1", unread_value="much")]},
    "a goal without money": {"silver.events": [order("1", goal="Signed Up", value=None)]},
    "a cancellation": {"silver.events": [order("1", goal="Order Cancelled", value=None)]},
    "a clock that runs ahead": {"silver.events": [event("1", time_source="arrival")]},
    "a link without tags": {"silver.events": [event("1", url=f"{SHOP}?q=my%20utm")]},
    "a tagged link": {"silver.events": [event("1", url=f"{SHOP}?utm_source=n", campaign_source="n")]},
    "a conversion with a rate": {"gold.conversions": [conversion("1")]},
    "a conversion without a value": {"gold.conversions": [conversion("1", value=None, reporting_value=None)]},
    "a user who logged in": {
        "silver.events": [of_server("1", "u")],
        "silver.identities": [login("v", "u"), login("u", "u")],
    },
    "a call of a server that is no track": {"silver.events": [of_server("1", "u", type="identify")]},
}


@pytest.mark.parametrize("case", COMPLETE)
def test_complete_rows_lack_nothing(case: str) -> None:
    assert found(COMPLETE[case]) == []


def lacking(kind: str, row: Callable[..., Row], sent: str | None = None, **more: Any) -> Any:
    return pytest.param(kind, row, more, sent, id=f"{kind}: {', '.join(map(str, more))}")


@pytest.mark.parametrize(
    ("kind", "row", "more", "sent"),
    [
        lacking("unreadable_value", order, "much", value=None, unread_value="much"),
        lacking("unreadable_refund", order, "all", goal="Order Refunded", value=None, unread_value="all"),
        lacking("no_value", order, value=None),
        lacking("no_value", order, value=None, goal="Order Refunded"),
        lacking("no_currency", conversion, currency=None, reporting_value=None),
        lacking("no_rate", conversion, "USD", currency="USD", reporting_value=None),
        lacking("negative_value", order, "-5.5", value=Decimal("-5.5000")),
        lacking("unreadable_time", event, "now", unread_time="now"),
        lacking("no_time", event, time_source="arrival", device_time=None),
        lacking("unreadable_link", event, f"{SHOP}?UTM-Source", url=f"{SHOP}?UTM-Source"),
        lacking(
            "unreadable_link",
            event,
            f"{SHOP}?utm_source={{{{site}}}}",
            url=f"{SHOP}?utm_source={{{{site}}}}",
            campaign_source="{{site}}",
        ),
        lacking("unknown_user", of_server, "u", user="u"),
    ],
)
def test_gap_has_count_share_example_and_days(
    kind: str, row: Callable[..., Row], more: Row, sent: str | None
) -> None:
    table, time = (
        ("gold.conversions", "converted_at") if row is conversion else ("silver.events", "event_time")
    )
    day = timedelta(days=1)
    rows = [
        row("b", **more),
        row("c", **more, **{time: NOON + day}),
        row("a", **more, **{time: NOON + day}),
        row("before", **more, **{time: NOON - day}),
        row("after", **more, **{time: NOON + 2 * day}),
    ]
    (gap,) = found({table: rows})
    assert gap["kind"] == kind
    assert (gap["what"], gap["advice"]) == (KINDS[kind].what, KINDS[kind].advice)
    assert (gap["count"], gap["share"]) == (3, 1)
    assert (gap["example"], gap["sent"]) == ("a", sent)
    assert (gap["first"], gap["latest"]) == (NOON.date(), (NOON + day).date())


def refused(reason: str, offset: int, at: datetime = NOON) -> Row:
    return {"reason": reason, "topic": "events", "partition": 0, "offset": offset, "arrival_time": at}


def test_refused_records_are_listed_by_reason_with_advice() -> None:
    later = NOON + timedelta(hours=1)
    records = [
        refused("not_json", 1),
        refused("empty", 2),
        refused("empty", 4, later),
        refused("empty", 3, later),
    ]
    records += [refused("new_reason", 5), refused("empty", 6, NOON - timedelta(days=1))]
    rows = found({"silver.rejected_events": records, "silver.events": [event("1")] * 5})
    assert [(row["what"], row["count"], row["share"], row["example"]) for row in rows] == [
        ("records refused: empty", 3, 0.3, "events/0/3"),
        ("records refused: new_reason", 1, 0.1, "events/0/5"),
        ("records refused: not_json", 1, 0.1, "events/0/1"),
    ]
    assert [row["advice"] for row in rows] == [REASONS["empty"], KINDS["refused"].advice, REASONS["not_json"]]


def test_each_reason_of_a_rejection_has_advice() -> None:
    sources = Path(parse.__file__).parent.rglob("*.py")
    named = {name for file in sources for name in re.findall(r'Rejection\("(\w+)"', file.read_text("utf-8"))}
    assert {"empty", "not_json", "bad_rate"} <= named
    assert named - REASONS.keys() == set()


def test_user_is_known_only_if_another_visitor_logged_in_as_it() -> None:
    rows = [of_server("1", "u"), of_server("2", "u"), of_server("3", "w"), of_server("4", "x")]
    tables = {"silver.events": rows, "silver.identities": [login("u", "u"), login("w", "w"), login("v", "w")]}
    (gap,) = found(tables)
    assert (gap["kind"], gap["count"], gap["share"], gap["of"]) == ("unknown_user", 3, 0.75, "server events")
    assert (gap["example"], gap["sent"]) == ("1", "u")


def test_only_users_seen_last_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics.gaps, "_USERS", 2)
    rows = [of_server(str(at), f"u{at}", event_time=NOON + timedelta(hours=at)) for at in range(4)]
    (gap,) = found({"silver.events": rows})
    assert (gap["count"], gap["share"], gap["sent"]) == (2, 1, "u3")
    assert gap["of"] == "server events of the 2 users seen last"


def test_example_of_links_is_the_latest_of_both_kinds() -> None:
    unfilled = {
        "url": f"{SHOP}?utm_source=*|N|*&utm_medium=a",
        "campaign_source": "*|N|*",
        "campaign_medium": "a",
    }
    rows = [
        event("1", url=f"{SHOP}?utm_source"),
        event("2", **unfilled, event_time=NOON + timedelta(hours=1)),
        event("3", url=f"{SHOP}?utm_source=n", campaign_source="n", event_time=NOON + timedelta(hours=2)),
        event("4", url=f"{SHOP}?utm_source=*|N|*", campaign_source="*|N|*"),
    ]
    (gap,) = found({"silver.events": rows})
    assert (gap["count"], gap["share"], gap["of"]) == (3, 0.75, "events on tagged links")
    assert (gap["example"], gap["sent"]) == ("2", unfilled["url"])


def test_kind_is_left_out_if_its_column_is_not_seen() -> None:
    tables = {"silver.events": [order("1", value=None), event("2", unread_time="now")]}
    assert [row["kind"] for row in found(tables)] == ["no_value", "unreadable_time"]
    unseen = frozenset({"silver.events.unread_value", "silver.identities.visitor_id"})
    assert kinds_unseen(unseen) == ["unreadable_refund", "unreadable_value", "no_value", "unknown_user"]
    assert [row["kind"] for row in found(tables, unseen=unseen)] == ["unreadable_time"]
    everything = frozenset(f"{table}.{name}" for table in tables_read() for name in COLUMNS[table])
    assert kinds_unseen(everything) == [kind for kind in KINDS if KINDS[kind].in_tables]


TEXTS = st.none() | st.sampled_from(["u", "w"])
MONEY = st.none() | st.integers(-2, 2).map(Decimal)
LINKS = st.none() | st.sampled_from(["", "?utm_source=a", "?utm-id", "?utm_term=a", "?UTM%5FCAMPAIGN={{c}}"])
HOURS = st.integers(-1, 49).map(lambda hours: NOON + timedelta(hours=hours))
SILVER = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["page", "track"]),
        "goal": st.none() | st.sampled_from([*GOALS.all, "Signed Up"]),
        "value": MONEY,
        "unread_value": TEXTS,
        "unread_time": TEXTS,
        "time_source": st.sampled_from(["corrected", "arrival"]),
        "device_time": st.none() | st.just(NOON),
        "url": LINKS,
        "campaign_source": st.none() | st.sampled_from(["a", "{{c}}"]),
        "campaign_id": st.none() | st.sampled_from(["a", "[[c]]"]),
        "is_server_event": st.sampled_from([None, False, True]),
        "user_id": TEXTS,
        "event_time": HOURS,
    }
)
GOLD = st.fixed_dictionaries(
    {"value": MONEY, "reporting_value": MONEY, "currency": TEXTS, "converted_at": HOURS}
)


def is_unread(row: Row) -> bool:
    return row["value"] is None and row["unread_value"] is not None


def naive(tables: Tables) -> dict[str, tuple[int, float]]:
    """Count and share of each kind."""
    events = [row for row in tables["silver.events"] if NOON <= row["event_time"] < SCOPE.period.end]
    conversions = [
        row for row in tables["gold.conversions"] if NOON <= row["converted_at"] < SCOPE.period.end
    ]
    known = {row["user_id"] for row in tables["silver.identities"] if row["user_id"] != row["visitor_id"]}
    valued = [row for row in events if row["goal"] in GOALS.all]
    orders = [row for row in events if row["goal"] == "Order Completed"]
    refunds = [row for row in events if row["goal"] == "Order Refunded"]
    amounts = [row for row in conversions if row["value"] is not None]
    tagged = [
        row for row in events if re.search("utm(-|_|%5f)(source|id|campaign)", (row["url"] or "").lower())
    ]
    server = [row for row in events if row["is_server_event"] and row["type"] == "track" and row["user_id"]]
    fields = [[row["campaign_source"], row["campaign_id"]] for row in tagged]
    counts = {
        "unreadable_refund": (refunds, sum(map(is_unread, refunds))),
        "unreadable_value": (orders, sum(map(is_unread, orders))),
        "no_value": (valued, sum(row["value"] is None and row["unread_value"] is None for row in valued)),
        "no_currency": (
            amounts,
            sum(not row["currency"] and row["reporting_value"] is None for row in amounts),
        ),
        "no_rate": (
            amounts,
            sum(bool(row["currency"]) and row["reporting_value"] is None for row in amounts),
        ),
        "negative_value": (orders, sum(row["value"] is not None and row["value"] < 0 for row in orders)),
        "unreadable_time": (events, sum(row["unread_time"] is not None for row in events)),
        "no_time": (
            events,
            sum(
                (row["time_source"], row["device_time"], row["unread_time"]) == ("arrival", None, None)
                for row in events
            ),
        ),
        "unreadable_link": (tagged, sum(each == [None, None] or "c" in str(each) for each in fields)),
        "unknown_user": (server, sum(row["user_id"] not in known for row in server)),
    }
    return {kind: (count, count / len(rows)) for kind, (rows, count) in counts.items() if count}


@given(
    events=st.lists(SILVER, max_size=12),
    conversions=st.lists(GOLD, max_size=5),
    identities=st.lists(st.builds(login, st.sampled_from("vuw"), st.sampled_from("uw")), max_size=3),
)
def test_counts_and_shares_equal_naive_ones(
    events: list[Row], conversions: list[Row], identities: list[Row]
) -> None:
    tables = {
        "silver.events": [{**row, "event_id": str(at)} for at, row in enumerate(events)],
        "gold.conversions": [{**row, "event_id": str(at)} for at, row in enumerate(conversions)],
        "silver.identities": identities,
    }
    rows = found(tables)
    assert {row["kind"]: (row["count"], row["share"]) for row in rows} == naive(tables)
    assert [row["kind"] for row in rows] == [kind for kind in KINDS if kind in naive(tables)]


def test_gaps_of_delta_tables_equal_those_of_frames(tmp_path: Path) -> None:
    tables: Tables = {
        "silver.events": [
            order("1", value=None, unread_value="much", currency="EUR"),
            of_server("2", "u", value=Decimal(-1)),
            event("3", url=f"{SHOP}?utm_source=a", unread_time="now"),
        ],
        "silver.rejected_events": [refused("not_json", 1)],
        "silver.identities": [login("v", "w")],
        "gold.conversions": [conversion("1", currency="USD", reporting_value=None)],
    }
    assert Lake(LocalTables(tmp_path / "warehouse")).look().figure(gaps, SCOPE, GOALS, frozenset()).is_empty()
    build_warehouse(tmp_path, tables)
    look = Lake(LocalTables(tmp_path / "warehouse")).look()
    rows = look.figure(gaps, SCOPE, GOALS, frozenset()).to_dicts()
    assert [row["kind"] for row in rows] == [
        *("unreadable_value", "no_rate", "negative_value", "refused", "unreadable_time"),
        *("unreadable_link", "unknown_user"),
    ]
    assert rows == found(tables)


def test_queries_are_aggregated_or_limited() -> None:
    asked: list[Query] = []
    ask = ask_over({"silver.events": [of_server("1", "u", value=None, url="?utm_id")]})

    def recorded(query: Query) -> pl.DataFrame:
        asked.append(query)
        return ask(query)

    gaps(recorded, SCOPE, GOALS, frozenset())
    assert len(asked) > 15
    assert [query for query in asked if not query.measures and query.limit != 1] == []
