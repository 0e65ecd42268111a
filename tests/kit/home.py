"""A home for end-to-end tests: real commands in separate processes, on its own topic."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakehouse.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[2]
REAL_LOG = ROOT.parent / "shared" / "data" / "apache_logs.log"
SAMPLE_EVENTS = 6000
JAVA_OPTIONS = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""Of Spark applications in tests: the second compiler takes processor time from tests beside it."""
JOBS = ("ingest", "refine", "repair", "publish")


@dataclass(frozen=True)
class Home:
    """A MILLRACE_HOME with its Kafka topic.

    Args:
        path: the folder.
        bootstrap: the broker, as host:port.
        topic: name of the topic.
        more: other settings, as MILLRACE_* variables.
        place: working directory of the commands; its bundle is used.
    """

    path: Path
    bootstrap: str
    topic: str
    more: Mapping[str, str] = field(default_factory=dict)
    place: Path = ROOT

    @property
    def rates_topic(self) -> str:
        """The topic of its exchange rates."""
        return f"{self.topic}-rates"

    @property
    def costs_topic(self) -> str:
        """The topic of its campaign costs."""
        return f"{self.topic}-costs"

    @property
    def shop_topic(self) -> str:
        """The topic of changes of its shop."""
        return f"{self.topic}-shop"

    @property
    def env(self) -> dict[str, str]:
        """The environment of its commands."""
        ours = {
            "MILLRACE_HOME": str(self.path),
            "MILLRACE_SPARK_JAVA_OPTIONS": JAVA_OPTIONS,
            "MILLRACE_KAFKA_BOOTSTRAP": self.bootstrap,
            "MILLRACE_EVENTS_TOPIC": self.topic,
            "MILLRACE_TRUST_LOCAL": "true",
            "MILLRACE_EXCHANGE_RATES_TOPIC": self.rates_topic,
            "MILLRACE_CAMPAIGN_COSTS_TOPIC": self.costs_topic,
            "MILLRACE_SHOP_CHANGES_TOPIC": self.shop_topic,
            "PYTHONPATH": str(ROOT / "src"),
            "COLUMNS": "250",
        }
        return {**os.environ, **ours, **self.more}

    @property
    def settings(self) -> Settings:
        """The same settings for code in this process."""
        return load_settings(
            home=self.path,
            kafka_bootstrap=self.bootstrap,
            events_topic=self.topic,
            exchange_rates_topic=self.rates_topic,
            campaign_costs_topic=self.costs_topic,
            shop_changes_topic=self.shop_topic,
        )

    def run(self, *arguments: str, seconds: float = 1500, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command until it ends, with any exit code."""
        return subprocess.run(
            command(*arguments),
            env={**self.env, **env},
            cwd=self.place,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )

    def must(self, *arguments: str, **env: str) -> str:
        """Run a command that must succeed. Returns its standard output."""
        done = self.run(*arguments, **env)
        assert done.returncode == 0, f"millrace {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    def sql(self, query: str) -> list[list[str]]:
        """The rows of `millrace sql --csv`, without header."""
        return list(csv.reader(self.must("sql", query, "--csv").splitlines()))[1:]

    def copy(self, path: Path) -> "Home":
        """A copy of the home in another folder."""
        shutil.copytree(self.path, path)
        return Home(path, self.bootstrap, self.topic, self.more)

    def twin(self, path: Path, **more: str) -> "Home":
        """A new home with the same topic and the manifests of the clients."""
        path.mkdir()
        shutil.copytree(self.path / "manifests", path / "manifests")
        return Home(path, self.bootstrap, self.topic, {**self.more, **more})


def command(*arguments: str) -> tuple[str, ...]:
    """The command line for this Python interpreter."""
    return (sys.executable, "-m", "millrace", *arguments)


def recorded_runs(home: Path, job: str) -> list[dict[str, Any]]:
    """Records of the runs of a job in a home, the earliest first."""
    return [json.loads(file.read_text()) for file in sorted((home / "runs" / job).glob("[0-9]*.json"))]
