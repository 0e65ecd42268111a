"""All rows of a person are exported from all tables, and none of anybody else, also on shared devices."""

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kit.customer_rows import LEDGER, STAMP, new_records, tables_of_shop
from kit.oracle_identities import identities_of, persons_of
from kit.warehouse_builder import Row, append_rows, build_warehouse, schema_of
from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from lakehouse.rows.row_json import row_json
from lakehouse.settings import load_settings
from lakehouse.timestamps import from_micros, to_micros
from millrace.operations.person_export import rows_of_person
from millrace.tables import table_scan
from privacy.export import tables
from privacy.export.own_rows import ExportRules
from privacy.export.person_rows import PersonRows
from privacy.identities import Scan, find_person

START = to_micros(datetime(2026, 11, 1, tzinfo=timezone.utc))
MINUTE = 60_000_000
USERS = ("ann", "ben", "eve")
OTHER_VALUES = (
    "gold.traffic",
    "gold.dimension_performance",
    "gold.funnel_by_dimension",
)  # sums, and values of a dimension
RULES = ExportRules(frozenset(), "shop_changes", {})
VISITORS = ("tablet", "phone", "kiosk", "ann")


def made_events(chance: Random) -> list[dict[str, Any]]:
    """Events of a few visitors, some of whom are shared by several users."""
    events = []
    for number in range(chance.randrange(1, 60)):
        visitor = chance.choice(VISITORS)
        user = chance.choice(USERS) if chance.random() < 0.3 and visitor != "kiosk" else None
        time = START + chance.choice((1, 2, 40)) * chance.randrange(12) * MINUTE
        event = {
            "event_id": f"e{chance.randrange(10**6)}-{number}",
            "visitor_id": visitor,
            "event_time": time,
        }
        events.append({**event, "user_id": "ann" if visitor == "ann" else user, "number": number})
    return events


def rows_of(event: dict[str, Any], person: str) -> dict[str, Row]:
    """A row of each table for an event."""
    at, uid, visitor = from_micros(event["event_time"]), event["event_id"], event["visitor_id"]
    record = {"topic": "events", "partition": event["number"] % 3, "offset": event["number"]}
    copy = {**record, "offset": record["offset"] + 1000}
    minute = at.replace(second=0)
    return {
        "bronze.kafka_records": {**record, "value": b"{}", "ingested_at": STAMP},
        "silver.events": {
            **record,
            "event_id": uid,
            "visitor_id": visitor,
            "event_time": at,
            "user_id": event["user_id"],
        },
        "silver.duplicate_events": {**copy, "event_id": uid},
        "silver.sessions": {
            "session_id": f"s{uid}",
            "visitor_id": visitor,
            "started_at": at,
            "first_event_id": uid,
            "is_open": False,
        },
        "silver.impressions": {"event_id": uid, "visitor_id": visitor, "event_time": at, "is_open": True},
        "silver.searches": {"event_id": uid, "visitor_id": visitor, "event_time": at, "is_open": False},
        "silver.search_results": {
            "search_event_id": uid,
            "visitor_id": visitor,
            "event_time": at,
            "rank": 1,
            "is_open": False,
        },
        "gold.touches": {"touch_id": uid, "visitor_id": visitor, "touched_at": at, "event_id": uid},
        "gold.conversions": {
            "conversion_id": f"c{uid}",
            "visitor_id": visitor,
            "person_id": person,
            "converted_at": at,
        },
        "gold.order_comparisons": {"order_hash": f"o{uid}", "person_id": person, "ordered_at": at},
        "gold.visitor_timeline": {
            "bucket": 1,
            "visitor_id": visitor,
            "entry_id": uid,
            "at": at,
            "user_id": event["user_id"],
        },
        "gold.bot_refunds": {"event_id": uid, "visitor_id": visitor, "converted_at": at},
        "gold.attribution": {"conversion_id": f"c{uid}", "model": "last", "position": 1},
        "gold.trails": {"conversion_id": f"c{uid}", "step": 1},
        "gold.visitor_minutes": {"visitor_id": visitor, "minute": minute, "sequence": event["number"]},
    }


def scan_of(home: Path) -> Scan:
    return partial(table_scan.scan, load_settings(home=home))


def keyed(rows: Iterable[tuple[str, Row]]) -> dict[str, list[str]]:
    """Rows as JSON by table, with the columns of the contract."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, row in rows:
        found[name].append(row_json({column: row.get(column) for column in schema_of(name)}).decode())
    return {name: sorted(texts) for name, texts in found.items()}


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_a_person_are_exported(tmp_path: Path, seed: int) -> None:
    events = made_events(Random(seed))
    persons = persons_of(events)
    made = [(event, rows_of(event, persons[event["event_id"]])) for event in events]
    times = ("valid_from", "valid_to", "identified_at")
    spans = [
        {name: from_micros(value) if name in times and value else value for name, value in span.items()}
        for span in identities_of(events)
    ]
    stored: dict[str, list[Row]] = {name: [rows[name] for _, rows in made] for name in made[0][1]}
    stored["silver.identities"] = spans
    for name in ("bronze.kafka_records", "gold.funnel"):
        stored.setdefault(name, []).append({"topic": "events", "partition": 9, "offset": 9, "step": "other"})
    stored["bronze.kafka_records"] += [
        {**copy, "value": b"{}", "ingested_at": STAMP} for copy in stored["silver.duplicate_events"]
    ]
    stored["ops.ledger"] = [{"job": "refine", "position": STAMP + timedelta(days=1)}]
    build_warehouse(tmp_path, stored)
    scan = scan_of(tmp_path)
    for person in sorted({*persons.values()}):
        is_user = person in USERS
        theirs = [(event, rows) for event, rows in made if persons[event["event_id"]] == person]
        expected = [(name, row) for _, rows in theirs for name, row in rows.items()]
        expected += [
            (
                "bronze.kafka_records",
                {**rows["silver.duplicate_events"], "value": b"{}", "ingested_at": STAMP},
            )
            for _, rows in theirs
        ]
        expected = [
            (name, {**row, "event_id": None} if name == "bronze.kafka_records" else row)
            for name, row in expected
        ]
        expected += [("silver.identities", span) for span in spans if span["user_id"] == person and is_user]
        found = find_person(scan, [person] if is_user else [], [] if is_user else [person])
        exported = keyed(PersonRows(scan, found, RULES))
        minutes = exported.pop("gold.visitor_minutes", [])
        wanted = keyed(expected)
        assert set(wanted.pop("gold.visitor_minutes", [])) <= set(minutes)
        assert exported == wanted


def test_minutes_of_other_users_are_left_out_but_where_a_span_ends(tmp_path: Path) -> None:
    events = [
        {
            "event_id": f"e{number}",
            "visitor_id": "tablet",
            "event_time": START + number * 10 * MINUTE,
            "user_id": who,
        }
        for number, who in enumerate(("ann", None, "ben", None))
    ]
    spans = identities_of(events)
    times = ("valid_from", "valid_to", "identified_at")
    rows = [{**span, **{name: span[name] and from_micros(span[name]) for name in times}} for span in spans]
    minutes = [{"visitor_id": "tablet", "minute": from_micros(event["event_time"])} for event in events]
    build_warehouse(tmp_path, {"silver.identities": rows, "gold.visitor_minutes": minutes})
    scan = scan_of(tmp_path)
    exported = [
        row["minute"]
        for name, row in PersonRows(scan, find_person(scan, ["ben"], []), RULES)
        if "gold" in name
    ]
    assert exported == [each["minute"] for each in minutes[2:]]


def test_rejected_and_new_records_are_found_by_their_text(tmp_path: Path) -> None:
    value = b'{"userId": "ann"}'
    records = [
        {"topic": "events", "partition": 0, "offset": 0, "value": value, "ingested_at": STAMP},
        {
            "topic": "events",
            "partition": 0,
            "offset": 1,
            "value": b'{"userId": "anna"}',
            "ingested_at": STAMP,
        },
        {"topic": "events", "partition": 0, "offset": 2, "value": value, "ingested_at": STAMP + timedelta(1)},
        {"topic": "events", "partition": 0, "offset": 3, "value": None, "ingested_at": STAMP + timedelta(1)},
    ]
    rejected = [{**{name: row[name] for name in row if name != "ingested_at"}} for row in records[:2]]
    reads = [{"subject": "SELECT * FROM silver.events WHERE user_id = 'ann'"}, {"subject": "SELECT 1"}]
    tables_ = {"bronze.kafka_records": records, "silver.rejected_events": rejected, "ops.reads": reads}
    build_warehouse(tmp_path, {**tables_, "ops.ledger": [{"job": "refine", "position": STAMP}]})
    scan = scan_of(tmp_path)
    found = list(PersonRows(scan, find_person(scan, ["ann"], []), RULES))
    assert [(name, row.get("offset")) for name, row in found] == [
        ("bronze.kafka_records", 0),
        ("bronze.kafka_records", 2),
        ("silver.rejected_events", 0),
        ("ops.reads", None),
    ]


def exported(home: Path, user: str) -> dict[str, list[int]]:
    """By table, offsets of the rows of a user, or numbers of their versions."""
    found: dict[str, list[int]] = defaultdict(list)
    with rows_of_person(load_settings(home=home), [user], []) as rows:
        for name, row in rows:
            if name != "silver.identities":
                found[name].append(int(row.get("version_id", row.get("offset"))))
    return {name: sorted(numbers) for name, numbers in found.items()}


def test_rows_of_the_shop_are_exported_by_their_customer(tmp_path: Path) -> None:
    build_warehouse(tmp_path, tables_of_shop())
    assert exported(tmp_path, "42") == {
        "bronze.kafka_records": [0, 2, 4, 6],
        "silver.shop_changes": [0, 2, 4, 6],
        "silver.customers": [0],
        "silver.orders": [2],
    }


def test_changes_that_the_job_dimensions_has_not_processed_are_exported_by_their_customer(
    tmp_path: Path,
) -> None:
    build_warehouse(tmp_path, {"bronze.kafka_records": new_records(), "ops.ledger": LEDGER})
    assert exported(tmp_path, "42") == {"bronze.kafka_records": [10, 12, 14, 16, 17]}
    append_rows(tmp_path, "ops.ledger", [{"job": "dimensions", "position": STAMP + timedelta(1)}])
    assert exported(tmp_path, "42") == {}


def test_rejected_and_new_records_of_others_that_mention_the_person_are_not_exported(tmp_path: Path) -> None:
    eve = {
        "messageId": "m",
        "userId": "eve",
        "timestamp": "2026-11-02T10:42:00Z",
        "properties": {"total": 42},
    }
    values = [
        {"userId": "42", "type": "page"},
        {**eve, "anonymousId": "v-42"},
        {"userId": "null", "anonymousId": "v-42"},
        {"user_id": "42"},
    ]
    records = [
        {"topic": "events", "partition": 0, "offset": offset, "value": json.dumps(value).encode()}
        for offset, value in enumerate(values)
    ]
    new = [{**row, "offset": row["offset"] + 10, "ingested_at": STAMP + timedelta(1)} for row in records]
    tables_ = {
        "bronze.kafka_records": [*({**row, "ingested_at": STAMP} for row in records), *new],
        "silver.rejected_events": records,
        "silver.identities": [{"visitor_id": "v-42", "user_id": "42"}],
        "ops.ledger": [{"job": "refine", "position": STAMP}],
    }
    build_warehouse(tmp_path, tables_)
    assert exported(tmp_path, "42") == {
        "bronze.kafka_records": [0, 2, 3, 10, 12, 13],
        "silver.rejected_events": [0, 2, 3],
    }


def test_visitor_of_several_users_is_no_person(tmp_path: Path) -> None:
    spans = [{"visitor_id": "tablet", "user_id": user, "event_id": user} for user in ("ann", "ben")]
    build_warehouse(tmp_path, {"silver.identities": spans})
    with pytest.raises(MillraceError, match=r"tablet is of several users: ann, ben"):
        find_person(scan_of(tmp_path), [], ["tablet"])
    person = find_person(scan_of(tmp_path), ["ann"], ["tablet"])
    assert (person.users, person.visitors, person.shared) == ({"ann"}, {"ann", "tablet"}, {"tablet"})


def test_other_visitors_of_the_user_of_a_visitor_are_the_same_person(tmp_path: Path) -> None:
    spans = [
        {"visitor_id": visitor, "user_id": "ann", "event_id": visitor} for visitor in ("tablet", "phone")
    ]
    build_warehouse(tmp_path, {"silver.identities": spans})
    person = find_person(scan_of(tmp_path), [], ["tablet"])
    assert person.visitors == {"ann", "tablet", "phone"}
    assert [tuple(each) for each in person.identities] == [
        ("user", "ann"),
        ("visitor", "phone"),
        ("visitor", "tablet"),
    ]


def test_each_table_says_whose_its_rows_are() -> None:
    kinds = [
        *tables.BY_SPAN,
        *tables.BY_MINUTE,
        *tables.BY_VISITOR,
        *tables.BY_USER,
        *tables.BY_PERSON,
        *tables.BY_CUSTOMER,
        *tables.BY_CONVERSION,
        *tables.BY_RECORD,
        *tables.BY_TEXT,
        *tables.WITHOUT_PERSONS,
    ]
    assert sorted(kinds) == sorted(TABLES)
    named = {"visitor_id", "user_id", "person_id", "event_id", "session_id", "conversion_id", "value"}
    assert [
        name
        for name in tables.WITHOUT_PERSONS
        if named.intersection(TABLES[name].column_names) - ({"value"} if name in OTHER_VALUES else set())
    ] == []
