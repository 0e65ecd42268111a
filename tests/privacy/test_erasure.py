"""Persons of a small world are erased from all tables: what is left is a world in which they never were."""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from folds.shop.row_history import SNAPSHOT, UPDATE, Change
from kit.erased_worlds import erased_uids, files_with, oracle_without, without
from kit.oracle import Oracle, read_record
from kit.oracle_identities import persons_of
from kit.oracle_shop import Sent
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import Bronze, Record, Stored, message, record
from kit.scenarios import cost_records, cut, rate_records, rush_events, story_events
from kit.shop_records import TOPIC, change
from kit.spark import catalog_in, empty_home, forget_tables
from lakehouse.contracts import TABLES
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.orders import ORDER_COMPARISONS
from lakehouse.contracts.timeline import VISITOR_TIMELINE
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from lakehouse.timestamps import from_micros
from millrace.audit.comparisons import audit_tables
from millrace.operations.erase import erase_job
from millrace.operations.rebuild import definitions
from millrace.tables.table_scan import reading, scan
from privacy.erasure.work_folder import WorkFolder
from privacy.identities import Identity, Person, find_person
from privacy.requests.register import Register
from privacy.search.home_search import search_home

pytestmark = pytest.mark.long

STORIES, PERSONS = 30, 12


@dataclass
class World:
    """A home whose jobs have caught up, and persons who are to be erased."""

    spark: SparkSession
    settings: Settings
    bronze: Bronze
    person: Person
    texts: list[str]
    uids: frozenset[str]

    def erase(self) -> str:
        register = Register(self.settings.home)
        now = self.bronze.stored[-1].ingested_at
        request = register.open(self.person.identities, "letter", now, timedelta(days=30)).id
        shared = (Identity("visitor", each) for each in self.person.shared)
        register.start_erasure(request, shared, now)
        WorkFolder(self.settings.home, request).start(self.person)
        with dying_after_each_step() as steps:
            while register.find(request).state == "erasing":
                with suppress(_KilledError):
                    self.resume(request)
        assert len(steps) > 3
        return request

    def resume(self, request: str) -> None:
        job = erase_job(request)
        job.body(JobContext(job.name, self.spark.newSession(), self.settings, once=True))

    def rebuild(self) -> None:
        job = rebuild_job(definitions(), list(definitions()))
        job.body(JobContext(job.name, self.spark.newSession(), self.settings, once=True))

    def is_as_if_they_never_were(self, arrived: Sequence[Stored] = ()) -> None:
        expected = oracle_without(
            [each for each in without_shop(self.bronze) if each not in arrived], self.uids, self.texts
        )
        assert_as_the_oracle(self.settings, expected, left_out=_OF_SHOP)
        with reading(self.settings):
            bronze = scan(self.settings, "bronze.kafka_records")
            assert bronze is not None
            wrong = [each for each in audit_tables(self.settings, bronze) if not each.is_right]
        assert wrong == []

    def has_no_customer_of_them(self) -> None:
        """The shop's tables have all other users, and conversions of nobody else are gone from the items."""
        everybody = {event["user_id"] for event in Oracle.over(without_shop(self.bronze)).events} - {None}
        for table in ("silver.customers", "silver.orders"):
            found = {row["customer_id"] for row in read_rows(self.settings, table, ("customer_id",))}
            assert found == everybody - self.person.users
        columns = ("conversion_id", "person_id", "customer_version_id")
        items = read_rows(self.settings, "gold.conversion_items", columns)
        columns = ("conversion_id", "person_id", "is_counted")
        counted = [row for row in read_rows(self.settings, "gold.conversions", columns) if row["is_counted"]]
        theirs = {row["conversion_id"] for row in counted if row["person_id"] in everybody}
        assert {row["conversion_id"] for row in items} == theirs
        assert not self.person.users & {row["person_id"] for row in items}

    def sums(self, versions: Mapping[str, int] | None = None) -> tuple[dict[str, int], dict[str, list[Any]]]:
        """Versions and rows of tables of sums, as of some versions or as of now."""
        lake = Lakehouse(self.spark.newSession(), self.settings, "test")
        of = versions or {name: lake.version(name) for name in _SUMS}
        rows = {}
        for name, version in of.items():
            lake.read(name)  # declares it in this session
            found = lake.spark.sql(f"SELECT * FROM {name} VERSION AS OF {version}")
            rows[name] = sorted(map(repr, found.collect()))
        return of, rows

    def is_nowhere(self) -> None:
        assert [each._asdict() for each in search_home(self.settings.home, self.texts).places] == []
        assert files_with(self.settings.home, self.texts) == {}


_OF_SHOP = {table.name for table in TABLES.values() if table.writer == "dimensions"} | {
    CONVERSION_ITEMS.name,
    ORDER_COMPARISONS.name,
    VISITOR_TIMELINE.name,
}
"""Tables with rows of the shop's database, which this oracle leaves out."""

_SUMS = ("gold.traffic", "gold.funnel", "gold.campaign_performance")


class _KilledError(Exception):
    """The process was killed."""


@contextmanager
def dying_after_each_step() -> Iterator[set[str]]:
    """Before the first entry of each step, the process is killed: the step is repeated."""
    killed: set[str] = set()
    enter = Register.add_step

    def add_step(register: Register, request: str, step: str, at: datetime) -> None:
        if step not in killed:
            killed.add(step)
            raise _KilledError
        enter(register, request, step, at)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Register, "add_step", add_step)
        yield killed


@pytest.fixture(params=["folder", "catalog"])
def world(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[World]:
    settings = empty_home(spark, tmp_path / "home")
    if request.param == "catalog":
        settings = catalog_in(spark, settings)
    bronze = Bronze(spark, settings)
    fill(bronze)
    yield choose_persons(bronze)
    forget_tables(spark)


def fill(bronze: Bronze) -> None:
    """Shared devices, changed logins, refunds over two persons, bots, copies and late events."""
    sent = [*story_events(STORIES), *rush_events(), *rate_records(), *cost_records()]
    for records in cut(sent):
        bronze.commit(records)
    bronze.commit(
        shop_records({event["user_id"] for event in Oracle.over(without_shop(bronze)).events} - {None})
    )
    run_jobs(bronze.spark, bronze.settings, "dimensions")
    run_jobs(bronze.spark, bronze.settings)


def without_shop(bronze: Bronze) -> list[Stored]:
    return [each for each in bronze.stored if each.record.topic != TOPIC]


def shop_records(users: Collection[str]) -> list[Record]:
    """A customer with two plans, and an order, of each user."""
    plans = [(1, SNAPSHOT, "free"), (5, UPDATE, "pro")]
    customers = [
        change(Sent(user, Change(lsn, 1, kind, 0, {"id": user, "plan": plan})))
        for user in sorted(users)
        for lsn, kind, plan in plans
    ]
    row = {"customer_id": "", "value": "5"}
    orders = [
        change(Sent(f"o-{user}", Change(6, 1, UPDATE, 0, {**row, "customer_id": user})), "public.orders")
        for user in sorted(users)
    ]
    return customers + orders


def choose_persons(bronze: Bronze) -> World:
    events = Oracle.over(without_shop(bronze)).events
    everyone = sorted(set(persons_of(events).values()))
    chosen = [*random.Random(7).sample(everyone, PERSONS), "u-full"]
    users = {event["user_id"] for event in events if event["user_id"] in chosen}
    with reading(bronze.settings):
        person = find_person(partial(scan, bronze.settings), users, [])
    alone = frozenset(chosen) - users
    person = replace(person, visitors=person.visitors | alone)
    uids = erased_uids(without_shop(bronze), users, alone)
    left = Oracle.over(without(without_shop(bronze), uids, ())).events
    named = {event["visitor_id"] for event in left} | {event["user_id"] for event in left}
    return World(bronze.spark, bronze.settings, bronze, person, sorted({*person.texts} - named), uids)


def test_erased_persons_were_never_there(world: World) -> None:
    assert len(world.uids) > 50
    assert len(world.texts) > 10
    versions, published = world.sums()
    world.erase()
    world.is_as_if_they_never_were()
    world.has_no_customer_of_them()
    world.is_nowhere()
    assert world.sums(versions)[1] == published != world.sums()[1]
    arrived = send_again(world)
    run_jobs(world.spark, world.settings)
    world.is_as_if_they_never_were(arrived)
    world.rebuild()
    world.is_as_if_they_never_were(arrived)
    world.has_no_customer_of_them()


def send_again(world: World) -> list[Stored]:
    """Commit copies of all erased records, and events of erased identities that come late."""
    copies = [each.record for each in without_shop(world.bronze) if uid_of(each) in world.uids]
    late = [
        record(
            message(f"late-{number}", text, "page", from_micros(1))
            | ({"userId": text} if text in world.person.users else {})
        )
        for number, text in enumerate(world.texts)
    ]
    world.bronze.commit([replace(each, partition=1) for each in copies] + late)
    return world.bronze.stored[-len(copies) - len(late) :]


def uid_of(stored: Stored) -> str | None:
    return read_record(stored).fields.get("event_id") if stored.record.topic == "events" else None
