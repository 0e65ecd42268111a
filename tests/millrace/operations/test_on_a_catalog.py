"""Gate, rebuild and explain operations on tables in a catalog."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from kit.planted import shop
from kit.records import NOON, Bronze
from kit.strict_gate import strict_home, without_number
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from millrace import cli
from millrace.operations import entry_points as operations
from silver.entry_points import silver

CATALOG = "spark_catalog"
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator["World"]:
    """A catalog with published orders."""
    with strict_home(spark, tmp_path_factory.mktemp("catalog")) as home:
        yield World(spark, home.model_copy(update={"catalog": CATALOG}))
        for layer in ("bronze", "silver", "gold", "ops"):
            spark.sql(f"DROP DATABASE IF EXISTS {layer} CASCADE")


class World:
    """Runs jobs on the tables of a catalog as a task does."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self.spark, self.settings = spark, settings
        self.bronze = Bronze(spark, settings)
        self.bronze.commit(shop(1, visitors=2))
        self.run(silver)
        self.publish()

    def run(self, job: Job, **parameters: str) -> None:
        session = self.spark.newSession()
        job.body(JobContext(job.name, session, self.settings, once=True, parameters=parameters))

    def publish(self) -> None:
        from gold.entry_points import publish

        self.run(publish)

    def count(self, table: str) -> int:
        return self.spark.table(f"{CATALOG}.{table}").count()

    def rows(self, table: str, *columns: str) -> list[Any]:
        return sorted(map(tuple, self.spark.table(f"{CATALOG}.{table}").select(*columns).collect()))


def test_closed_gate_stays_closed_after_replay_and_opens_on_release(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    published = world.count("gold.conversions")
    world.bronze.commit(without_number(shop(2, NOON, visitors=2)))
    world.run(silver)
    with pytest.raises(MillraceError, match="gold is held"):
        world.publish()
    assert world.count("gold.conversions") == published > 0

    world.run(operations.gate)
    shown = capsys.readouterr().out
    assert "closed" in shown
    assert "silver.events: orders have a number" in shown
    assert "Order Completed" in shown, "the rows that are not as expected"

    with pytest.raises(MillraceError, match="still not as expected"):
        world.run(operations.replay, by="Ada", reason="perhaps a rule was wrong")
    assert world.count("gold.conversions") == published

    world.run(operations.release, by="Ada", reason="a test")
    world.publish()
    assert world.count("gold.conversions") > published
    states = [state for (_, state) in world.rows("ops.gates", "sequence", "state")]
    assert states == ["closed", "replayed", "closed", "replayed", "released"]


def test_rebuilt_attribution_is_unchanged(world: World) -> None:
    columns = ("conversion_id", "model", "touch_id", "credit")
    before = world.rows("gold.attribution", *columns)
    world.run(operations.rebuild, tables="silver.sessions, gold.attribution")
    assert world.rows("gold.attribution", *columns) == before


def test_conversion_in_a_catalog_is_explained(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    ((conversion, goal), *_) = world.rows("gold.conversions", "conversion_id", "goal")
    world.run(operations.explain, conversion=conversion)
    shown = capsys.readouterr().out
    assert goal in shown
    assert "Touches that share in it" in shown


def test_commands_read_catalog_through_active_session(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_CATALOG", CATALOG)
    monkeypatch.setenv("MILLRACE_HOME", str(world.settings.home))
    if not cli.app.registered_groups:
        cli.register_commands()
    ((conversion,), *_) = world.rows("gold.conversions", "conversion_id")
    explained = CliRunner().invoke(cli.app, ["explain", "conversion", conversion, "--json"])
    assert conversion in explained.output, explained.exception
    shown = CliRunner().invoke(cli.app, ["quality", "--json"])
    assert json.loads(shown.output)["gate"]["state"] in ("closed", "released"), shown.exception
