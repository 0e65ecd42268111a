"""Visitors that a person has used since the erasure was asked for."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from millrace.operations.current_person import current_person
from millrace.operations.erase import erase_job
from millrace.operations.erasure_request import EXPIRED, prepare_erasure
from privacy.erasure.selection import with_new_visitors
from privacy.erasure.work_folder import WorkFolder
from privacy.identities import Identity, Person
from privacy.requests.register import Register

AT = datetime(2026, 11, 2, tzinfo=timezone.utc)
GUEST = Person(frozenset(), frozenset({"guest"}))
SPANS = (("phone", "ann"), ("tablet", "ann"), ("tablet", "ben"), ("kiosk", "eve"), ("stranger", "eve"))


def test_visitors_that_a_user_has_by_now_are_of_the_person(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    rows = [{"visitor_id": visitor, "user_id": user, "valid_from": AT} for visitor, user in SPANS]
    append_rows(tmp_path, "silver.identities", rows)
    lake = Lakehouse(spark.newSession(), settings, "erase")
    known = Person(frozenset({"ann"}), frozenset({"ann", "phone", "stranger"}))
    found, left_out = with_new_visitors(lake.spark, lake, known)
    assert found.users == {"ann"}
    assert found.visitors == {"ann", "phone", "tablet", "stranger"}
    assert found.shared == {"tablet", "stranger"}, "stranger has logged in as eve since"
    assert left_out == {"stranger"}
    assert with_new_visitors(lake.spark, lake, found) == (found, frozenset())
    assert with_new_visitors(lake.spark, lake, GUEST) == (GUEST, frozenset())


@pytest.fixture
def settings(spark: SparkSession, tmp_path: Path) -> Settings:
    """A home in which a guest has logged in as eve."""
    settings = empty_home(spark, tmp_path)
    event = {"event_id": "e1", "visitor_id": "guest", "event_time": AT}
    append_rows(tmp_path, "silver.events", [event])
    append_rows(tmp_path, "silver.identities", [{"visitor_id": "guest", "user_id": "eve", "valid_from": AT}])
    return settings


def start(settings: Settings, reference: str) -> str:
    """Start an erasure of the guest, as one that has not logged in."""
    register = Register(settings.home)
    number = register.open([Identity("visitor", "guest")], reference, AT, timedelta(days=30)).id
    register.start_erasure(number, (), AT)
    WorkFolder(settings.home, number).start(GUEST)
    return number


def test_erasure_of_a_visitor_who_has_logged_in_since_is_abandoned(
    spark: SparkSession, settings: Settings
) -> None:
    number = start(settings, "letter")
    run = JobContext("erase", spark.newSession(), settings, once=True)
    with pytest.raises(MillraceError, match=f"a visitor of request {number} has logged in"):
        erase_job(number).body(run)
    found = Register(settings.home).find(number)
    assert (found.state, found.is_erasing, found.steps) == ("open", False, set())
    _, person = prepare_erasure(settings, None, [], ["guest"], "letter")
    assert person.users == {"eve"}


def test_expired_visitor_who_logs_in_stays(spark: SparkSession, settings: Settings) -> None:
    run = JobContext("erase", spark.newSession(), settings, once=True)
    assert current_person(run, start(settings, EXPIRED)).shared == {"guest"}


def test_erasure_that_has_listed_records_goes_on(spark: SparkSession, settings: Settings) -> None:
    number, run = start(settings, "letter"), JobContext("erase", spark.newSession(), settings, once=True)
    append_rows(settings.home, "ops.erased_records", [{"topic": "events", "offset": 1, "request": number}])
    assert current_person(run, number).visitors == {"guest"}
