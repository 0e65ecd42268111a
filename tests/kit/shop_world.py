"""A home with a published day of traffic, an alert receiver, and actions of an operator on a held gate."""

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
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.quality.alerts import SIGNATURE, sign
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from millrace.operations.release import release_job
from millrace.operations.replay import replay_job

SECRET = "a secret of the test's own"
Told = dict[str, Any]


@dataclass
class World:
    """A home with a published day of traffic, and an alert receiver."""

    spark: SparkSession
    settings: Settings
    bronze: Bronze
    receiver: Receiver
    conf: Path

    def send(self, records: list[Record]) -> None:
        """Add records to bronze, and run the jobs of silver."""
        self.bronze.commit(records)
        run_jobs(self.spark, self.settings, "refine", "repair")

    def publish_is_held(self) -> str:
        """Assert that publish fails with `gold is held` and changes no file of gold. Returns the message."""
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
        """SHA-256 of every file of gold."""
        files = sorted((self.settings.warehouse / "gold").rglob("*"))
        return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}

    def ends_as_the_oracle(self, mended: Callable[[Told], Told] = lambda body: body) -> None:
        """Run publish, and compare all tables with the oracle over the corrected records."""
        run_jobs(self.spark, self.settings, "publish")
        assert_as_the_oracle(self.settings, Oracle.over(_mend(each, mended) for each in self.bronze.stored))

    def change_role(self, track: str, **parts: Any) -> None:
        """Change the role rule of a track event."""
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
        """The only alert received, after checking its signature."""
        (alert,) = self.alerts()
        return alert

    def alerts(self) -> list[Told]:
        """The alerts received, in order, after checking their signatures."""
        for body, headers in zip(self.receiver.bodies, self.receiver.headers, strict=True):
            assert headers[SIGNATURE] == sign(SECRET, body)
        return [json.loads(body) for body in self.receiver.bodies]


def _mend(stored: Stored, mended: Callable[[Told], Told]) -> Stored:
    if stored.record.topic != "events":
        return stored
    value = json.dumps(mended(json.loads(stored.record.value or b""))).encode()
    return replace(stored, record=replace(stored.record, value=value))


def publish_a_day(spark: SparkSession, folder: Path) -> Bronze:
    """Create a home whose jobs have processed a day of traffic. Tests start from a copy of it."""
    settings = empty_home(spark, folder / "home")
    bronze = Bronze(spark, settings)
    bronze.commit(rates() + shop(1, visitors=20))
    run_jobs(spark, settings)
    assert read_rows(settings, "ops.gates", ("state",)) == []
    shutil.copytree(settings.home, folder / "kept")
    return bronze


@contextmanager
def world_of(spark: SparkSession, published: Bronze, folder: Path) -> Iterator[World]:
    """A world with a copy of the home, and its own copy of rules and expectations."""
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
