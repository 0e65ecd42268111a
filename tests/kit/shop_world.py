"""A home with a shop's day published, a receiver of alerts, and what somebody does who finds gold held."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.planted import rates, shop
from kit.records import Bronze, Record, Stored
from kit.spark import empty_home
from kit.webhook import Receiver, receiving
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.quality.alerts import SIGNATURE, sign
from lakehouse.run.job import JobContext
from lakehouse.settings import BUNDLE_FILE, Settings, bundle_root
from millrace.operations.release import release_job
from millrace.operations.replay import replay_job

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
        job.body(JobContext(job.name, self.spark.newSession(), self.settings, once=True))

    def release(self) -> None:
        self.order(release_job("Ada", "looked at it"))

    def replay(self) -> None:
        self.order(replay_job("Ada", "rules mended"))

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


def publish_a_day(spark: SparkSession, folder: Path) -> Bronze:
    """A home in which a day's traffic has gone through all jobs; a copy is kept, since tests replace it."""
    settings = empty_home(spark, folder / "home")
    bronze = Bronze(spark, settings)
    bronze.commit(rates() + shop(1, visitors=20))
    run_jobs(spark, settings)
    assert read_rows(settings, "ops.gates", ("state",)) == []
    shutil.copytree(settings.home, folder / "kept")
    return bronze


@contextmanager
def world_of(spark: SparkSession, published: Bronze, folder: Path) -> Iterator[World]:
    """A world of its own, over a copy of the home, with rules and expectations of its own."""
    root = bundle_root()
    assert root is not None
    shutil.copytree(published.settings.home.parent / "kept", folder / "home")
    shutil.copytree(root / "conf", folder / "bundle" / "conf")
    shutil.copy(root / BUNDLE_FILE, folder / "bundle")
    with receiving() as receiver, pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder / "bundle")
        settings = empty_home(spark, folder / "home", alert_webhook=receiver.url, alert_secret=SECRET)
        bronze = Bronze(spark, settings, list(published.stored), published.commits)
        yield World(spark, settings, bronze, receiver, folder / "bundle" / "conf")
