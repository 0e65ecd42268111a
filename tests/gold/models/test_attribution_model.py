"""The attribution-model job: from tables to credit, with its runs and versions read back from MLflow."""

import io
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from gold.models.model_job import attribute_paths
from kit.frames import frame_of
from kit.oracle_paths import Touch, World, markov, shapley
from kit.pipeline import read_rows
from kit.spark import empty_home
from kit.worlds import WATERMARK, fill, make_world
from lakehouse.contracts import TABLES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext, JobListener
from lakehouse.settings import Settings

pytestmark = pytest.mark.long

CREDIT = "gold.channel_credit"
NUMBERS = ("conversions", "value", "nulls")
NAME = "attribution-model"


class LogCollector(JobListener):
    """Collects the log lines of a job."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, job: str, line: str) -> None:
        self.lines.append(line)


def run_job(spark: SparkSession, settings: Settings) -> LogCollector:
    log = LogCollector()
    attribute_paths(JobContext("attribution-model", spark.newSession(), settings, once=True, listener=log))
    return log


def credits_of(settings: Settings) -> dict[tuple[Any, ...], tuple[float, Decimal]]:
    rows = read_rows(settings, CREDIT, TABLES[CREDIT].deterministic_columns)
    key = ("period_start", "period_end", "model", "channel")
    return {tuple(row[name] for name in key): (row["conversions"], row["reporting_value"]) for row in rows}


def versions_in(settings: Settings) -> set[str]:
    return {row["model_version"] for row in read_rows(settings, CREDIT, ["model_version"])}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    """MLflow on the home's store, as its user would open it."""
    import mlflow

    uri = f"sqlite:///{tmp_path / 'mlflow' / 'mlflow.db'}"
    yield mlflow.MlflowClient(uri, uri)
    mlflow.set_tracking_uri(None)
    mlflow.set_registry_uri(None)


def test_model_job_writes_credit_and_registers_version_only_for_new_paths(
    spark: SparkSession, tmp_path: Path, client: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    settings, world = empty_home(spark, tmp_path, business_time_zone="Europe/Berlin"), make_world(11)
    fill(spark, settings, world)
    run_job(spark, settings)
    assert_matches_oracle(settings, world)
    assert versions_in(settings) == {"1"}
    (run,) = runs_of(client)
    assert_run(client, run)
    assert_model(client, world)

    before = credits_of(settings)
    run_job(spark, settings)
    again = runs_of(client)
    assert len(again) == 2
    assert {each.data.tags["model_version"] for each in again} == {"1"}
    assert len({each.data.tags["paths_sha256"] for each in again}) == 1
    assert (credits_of(settings), versions_in(settings)) == (before, {"1"})

    more = Touch(WATERMARK, "t-new", "v-new", "Email")
    world.touches.append(more)
    rows = frame_of(spark, "gold.touches", [more._asdict()])
    Lakehouse(spark, settings, "publish").append("gold.touches", rows)
    run_job(spark, settings)
    assert_matches_oracle(settings, world)
    assert versions_in(settings) == {"2"}
    assert {str(each.version) for each in client.search_model_versions(f"name='{NAME}'")} == {"1", "2"}
    assert capfd.readouterr() == ("", "")


def assert_matches_oracle(settings: Settings, world: World) -> None:
    from kit.oracle_wire import micros

    wanted = {}
    for (start, end), ways in world.paths("Europe/Berlin", WATERMARK).items():
        for model, credit in (("markov", markov), ("shapley", shapley)):
            for channel, shares in credit(ways).items():
                wanted[micros(start), micros(end), model, channel] = shares
    found = credits_of(settings)
    assert found.keys() == wanted.keys()
    for key, (conversions, value) in wanted.items():
        assert found[key][0] == pytest.approx(conversions, abs=1e-6)
        assert float(found[key][1]) == pytest.approx(value, abs=4e-4)  # it may hold the rounding remainder
    sums: dict[tuple[Any, ...], float] = defaultdict(float)
    money: dict[tuple[Any, ...], Decimal] = defaultdict(Decimal)
    for (*period, _), (conversions, value) in found.items():
        assert conversions >= 0
        sums[tuple(period)] += conversions
        money[tuple(period)] += value
    for (start, end), ways in world.paths("Europe/Berlin", WATERMARK).items():
        total = sum(ends.conversions for ends in ways.values())
        worth = sum(ends.value for ends in ways.values())
        for model in ("markov", "shapley"):
            assert sums[micros(start), micros(end), model] == pytest.approx(total, abs=1e-9)
            assert money[micros(start), micros(end), model] == worth


def runs_of(client: Any) -> list[Any]:
    experiment = client.get_experiment_by_name(NAME)
    return list(client.search_runs([experiment.experiment_id]))


def assert_run(client: Any, run: Any) -> None:
    assert run.info.status == "FINISHED"
    assert run.data.params["look_back_days"] == "30"
    assert run.data.params["models"] == "markov, shapley"
    assert len(run.data.tags["paths_sha256"]) == 64
    metrics = run.data.metrics
    assert metrics["last_30_days/conversions"] > 0
    assert 0 < metrics["last_30_days/conversion_probability"] < 1
    of_email = client.get_metric_history(run.info.run_id, "shapley/Email")
    assert {each.step for each in of_email} >= {202601, 202602, 202603}
    files = {
        file.path for folder in ("paths", "credit") for file in client.list_artifacts(run.info.run_id, folder)
    }
    assert {"paths/2026-03.csv", "paths/last_30_days.csv", "credit/last_30_days.png"} <= files


def assert_model(client: Any, world: World) -> None:
    """The registered version loads, and credits a frame of paths as the oracle does."""
    import mlflow

    mlflow.set_tracking_uri(client.tracking_uri)
    mlflow.set_registry_uri(client.tracking_uri)
    model = mlflow.pyfunc.load_model(f"models:/{NAME}/1")
    (run,) = runs_of(client)
    text = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/paths/last_30_days.csv")
    credited = model.predict(pd.read_csv(io.StringIO(text), dtype=dict.fromkeys(NUMBERS, float)))
    (ways,) = (ways for (_, end), ways in world.paths("Europe/Berlin", WATERMARK).items() if end == WATERMARK)
    first = model.predict(
        pd.DataFrame({"path": ["a > b", ""], "conversions": [3.0, 1.0]}), params={"model": "first"}
    )
    assert list(first.itertuples(index=False, name=None)) == [
        ("first", "Direct", 1, 0),
        ("first", "a", 3, 0),
        ("first", "b", 0, 0),
    ]
    ends = model.predict(
        pd.DataFrame({"path": ["a > b > c"], "conversions": [10.0]}), params={"model": "position_based"}
    )
    assert list(ends.conversions) == pytest.approx([4, 2, 4])
    for name, credit in (("markov", markov), ("shapley", shapley)):
        of = credited[credited.model == name]
        found = {row.channel: (row.conversions, row.value) for row in of.itertuples()}
        assert found == {channel: pytest.approx(shares, abs=1e-6) for channel, shares in credit(ways).items()}


def test_model_job_without_published_tables_does_nothing(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    assert run_job(spark, settings).lines == ["no paths yet: publish comes first"]
    assert not (tmp_path / "mlflow").exists()


def test_model_job_without_paths_clears_credit_and_makes_no_model(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    fill(spark, settings, World())
    lake = Lakehouse(spark, settings, "attribution-model")
    row = {"period_start": WATERMARK, "period_end": WATERMARK, "model": "markov", "channel": "Email"}
    lake.append(CREDIT, frame_of(spark, CREDIT, [{**row, "conversions": 1.0, "reporting_value": Decimal(1)}]))
    run_job(spark, settings)
    assert credits_of(settings) == {}
    assert not (tmp_path / "mlflow").exists()
