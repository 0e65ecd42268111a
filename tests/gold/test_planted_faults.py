"""Planted faults: each fails the right expectation, and gold stays as it was until somebody decides.

A shop's traffic comes without fault and is published. Then the same comes with one fault in it.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from gold.replay import replay_job
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.planted import (
    an_hour_off,
    of_orders,
    on_something_else,
    plant,
    rates,
    shop,
    without_identity,
)
from kit.records import NOON, Bronze, Record, Stored
from kit.spark import settle_in
from kit.webhook import Receiver, receiving
from lakehouse.alerts import SIGNATURE, sign
from lakehouse.contracts.gold import LOCK
from lakehouse.errors import MillraceError
from lakehouse.expectations.gates import release_job
from lakehouse.job import Job, Run
from lakehouse.settings import BUNDLE_FILE, Settings, bundle_root
from silver.definitions import DEFINITIONS

LATER = NOON + timedelta(hours=2)
SECRET = "a secret of the test's own"
Told = dict[str, Any]


@dataclass
class World:
    """A home with a day's traffic published, and whoever hears of alerts."""

    spark: SparkSession
    settings: Settings
    bronze: Bronze
    receiver: Receiver
    conf: Path

    def send(self, records: list[Record]) -> None:
        """More comes in, as far as silver."""
        self.bronze.commit(records)
        run_jobs(self.spark, self.settings, "refine", "repair")

    def publish_is_held(self) -> str:
        """Publish says that it holds gold, and leaves each byte of it as it is; what it said."""
        before = self.gold()
        with pytest.raises(MillraceError, match="gold is held") as held:
            run_jobs(self.spark, self.settings, "publish")
        assert self.gold() == before
        return str(held.value)

    def order(self, job: Job) -> None:
        job.body(Run(job.name, self.spark.newSession(), self.settings, once=True))

    def release(self) -> None:
        self.order(release_job("Ada", "looked at it", LOCK))

    def replay(self) -> None:
        self.order(replay_job(DEFINITIONS, "Ada", "rules mended"))

    def gold(self) -> dict[str, str]:
        """Every file of gold, by its bytes."""
        files = sorted((self.settings.warehouse / "gold").rglob("*"))
        return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}

    def ends_as_the_oracle(self, mended: Callable[[Told], Told] = lambda body: body) -> None:
        """Publish goes on, and all is as it should be, with records read as rules were meant to."""
        run_jobs(self.spark, self.settings, "publish")
        assert_as_the_oracle(self.settings, Oracle.over(_mend(each, mended) for each in self.bronze.stored))

    def change_role(self, track: str, **parts: Any) -> None:
        """Change what is taken from a track."""
        file = self.conf / "roles.yml"
        rules = yaml.safe_load(file.read_text())
        rules["tracks"][track] |= parts
        file.write_text(yaml.safe_dump(rules, sort_keys=False))

    def last_gate(self) -> Told:
        rows = read_rows(self.settings, "ops.gates", ("sequence", "state", "reasons", "who", "why"))
        return max(rows, key=lambda row: row["sequence"])

    def failed(self, severity: str) -> set[str]:
        rows = read_rows(self.settings, "ops.expectations", ("table", "name", "severity", "success"))
        return {
            f"{row['table']}: {row['name']}"
            for row in rows
            if row["severity"] == severity and not row["success"]
        }

    def alert(self) -> Told:
        """The one alert there was, signed as it should be."""
        (body,), (headers,) = self.receiver.bodies, self.receiver.headers
        assert headers[SIGNATURE] == sign(SECRET, body)
        return json.loads(body)


def _mend(stored: Stored, mended: Callable[[Told], Told]) -> Stored:
    if stored.record.topic != "events":
        return stored
    value = json.dumps(mended(json.loads(stored.record.value or b""))).encode()
    return replace(stored, record=replace(stored.record, value=value))


@pytest.fixture(scope="module")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Bronze:
    """A home in which a day's traffic has gone through all jobs; a copy is kept, since tests replace it."""
    folder = tmp_path_factory.mktemp("published")
    settings = settle_in(spark, folder / "home")
    bronze = Bronze(spark, settings)
    bronze.commit(rates() + shop(1, visitors=20))
    run_jobs(spark, settings)
    assert read_rows(settings, "ops.gates", ("state",)) == []
    shutil.copytree(settings.home, folder / "kept")
    return bronze


@pytest.fixture
def world(
    spark: SparkSession, published: Bronze, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    root = bundle_root()
    assert root is not None
    shutil.copytree(published.settings.home.parent / "kept", tmp_path / "home")
    shutil.copytree(root / "conf", tmp_path / "bundle" / "conf")
    shutil.copy(root / BUNDLE_FILE, tmp_path / "bundle")
    monkeypatch.chdir(tmp_path / "bundle")
    with receiving() as receiver:
        settings = settle_in(spark, tmp_path / "home", alert_webhook=receiver.url, alert_secret=SECRET)
        bronze = Bronze(spark, settings, list(published.stored), published.commits)
        yield World(spark, settings, bronze, receiver, tmp_path / "bundle" / "conf")


def assert_closed_by(world: World, reason: str) -> None:
    """Gold is held for this reason alone, and whoever is to know has been told."""
    assert reason in world.publish_is_held()
    assert world.last_gate()["state"] == "closed"
    assert world.last_gate()["reasons"] == [reason]
    assert world.failed("stop") == {reason}
    alert = world.alert()
    assert (alert["event"], alert["reasons"]) == ("gate_closed", [reason])


def assert_released(world: World) -> None:
    world.release()
    gate = world.last_gate()
    assert (gate["state"], gate["who"], gate["why"]) == ("released", "Ada", "looked at it")
    world.ends_as_the_oracle()


def test_a_third_without_identity(world: World) -> None:
    world.send(plant(shop(2, LATER), 0.3, without_identity))
    refused = "silver.rejected_events: few records are refused"
    assert_closed_by(world, refused)
    assert refused in world.publish_is_held(), "it stays closed"
    assert_released(world)


@pytest.mark.long
def test_negative_totals(world: World) -> None:
    world.send(plant(shop(2, LATER), 0.5, of_orders(total=lambda total: -total)))
    assert_closed_by(world, "silver.events: orders are worth something, and not too much")
    assert_released(world)


def test_totals_a_thousand_times_too_big(world: World) -> None:
    """The shop began to send cents of cents, and the right number as `revenue`: rules are mended."""

    def in_small_coin(body: Told, _: Any) -> Told:
        told = body["properties"]
        if "total" not in told:
            return body
        return {**body, "properties": {**told, "total": told["total"] * 1000, "revenue": told["total"]}}

    def right(body: Told) -> Told:
        told = body["properties"]
        return {**body, "properties": {**told, "total": told["revenue"]}} if "revenue" in told else body

    world.send(plant(shop(2, LATER), 1, in_small_coin))
    assert_closed_by(world, "silver.events: orders are worth something, and not too much")
    with pytest.raises(MillraceError, match="still not as expected"):
        world.replay()  # nothing has been mended yet
    assert world.last_gate()["state"] == "closed"
    world.change_role("Order Completed", money=["revenue", "total"])
    world.replay()
    assert world.last_gate()["state"] == "opened"
    world.ends_as_the_oracle(right)


@pytest.mark.long
def test_a_currency_that_is_none(world: World) -> None:
    world.send(plant(shop(2, LATER), 0.4, of_orders(currency=lambda _: "EURO")))
    assert_closed_by(world, "silver.events: currencies are currencies")
    assert_released(world)


@pytest.mark.long
def test_clocks_an_hour_off(world: World) -> None:
    world.send(plant(shop(2, LATER), 0.4, an_hour_off))
    assert_closed_by(world, "silver.events: clocks are in the right time zone")
    assert_released(world)


def test_volume_falls_to_a_tenth(world: World) -> None:
    day, after = timedelta(days=1), timedelta(hours=3)
    world.send(shop(2, LATER))
    run_jobs(world.spark, world.settings, "publish")
    assert world.failed("warn") == set()
    world.send(shop(3, LATER + day, visitors=24) + shop(4, LATER + day + after, visitors=1))
    world.ends_as_the_oracle()
    hour = "silver.events: an hour is as busy as the same hour of the day before"
    assert world.failed("warn") == {hour}
    assert read_rows(world.settings, "ops.gates", ("state",)) == []
    alert = world.alert()
    assert (alert["event"], alert["reasons"]) == ("warning", [hour])


@pytest.mark.long
def test_a_required_field_is_missing(world: World) -> None:
    world.send(plant(shop(2, LATER), 0.4, of_orders(order_id=lambda _: None)))
    assert_closed_by(world, "silver.events: orders have a number")
    assert_released(world)


@pytest.mark.long
def test_copies_at_a_fifth(world: World) -> None:
    records = shop(2, LATER)
    world.send(records + records[: len(records) // 4])
    world.ends_as_the_oracle()
    copies = "silver.duplicate_events: few records are copies"
    assert world.failed("warn") == {copies}
    assert world.alert()["reasons"] == [copies]


@pytest.mark.long
def test_clicks_on_what_nobody_has_seen(world: World) -> None:
    world.send(plant(shop(2, LATER), 0.9, on_something_else))
    assert_closed_by(world, "silver.impressions: clicks are on something that was seen")
    assert_released(world)
