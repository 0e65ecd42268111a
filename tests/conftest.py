"""Fixtures shared by several test folders."""

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import hypothesis
import pytest
from pyspark.sql import SparkSession
from xdist.scheduler import LoadScopeScheduling

from kit.home import JOBS, REAL_LOG, SAMPLE_EVENTS, Home
from millrace.local.kafka.broker import running_broker
from millrace.local.process.ports import stable_port

if TYPE_CHECKING:
    from kit.catalog_server import CatalogServer

_SPARK, _CATALOG, _PIPELINE = "spark", "catalog", "tests/pipeline"
_FIRST = {"gw0": _SPARK, "gw1": _CATALOG, "gw2": _PIPELINE}
"""What a worker begins with: the three longest groups of tests."""
_SPARK_PROCESS = "gw0"

# Other work on the machine must not fail a test.
hypothesis.settings.register_profile("without deadline", deadline=None)
hypothesis.settings.load_profile("without deadline")


@dataclass(frozen=True)
class Broker:
    bootstrap: str


def pytest_configure() -> None:
    """End on SIGTERM as on Ctrl-C: fixtures stop what they started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if os.environ.get("PYTEST_XDIST_WORKER", _SPARK_PROCESS) != _SPARK_PROCESS:
        os.nice(5)  # the Spark worker finishes last, so it gets more CPU time


class ByFixture(LoadScopeScheduling):
    """Assigns Spark tests, tests of a catalog and pipeline tests to one worker each, others by file."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        text = (self.config.rootpath / file).read_text()
        if "SparkSession" in text:
            return _SPARK
        if "CatalogServer" in text:
            return _CATALOG
        return _PIPELINE if file.startswith("tests/pipeline/") or "caught_up_home" in text else file

    def _assign_work_unit(self, node: Any) -> None:
        for group in _FIRST.values():
            if group in self.workqueue:
                self.workqueue.move_to_end(group, last=group != _FIRST.get(node.gateway.id))
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFixture | None:
    """Distribute tests so that no session fixture is created twice; `loadfile` distributes by file alone."""
    return ByFixture(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The Spark application shared by all tests."""
    from kit.spark import spark_application

    with spark_application(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator["CatalogServer"]:
    """The catalog shared by all tests, with the tables of the home that was registered last."""
    from kit.catalog_server import running_catalog_server

    with running_catalog_server(tmp_path_factory.mktemp("catalog")) as server:
        yield server


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A Chromium browser."""
    from kit.visiting import running_chromium

    with running_chromium() as running:
        yield running


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """Pages of a new visitor in Chromium."""
    from kit.visiting import visitor

    with visitor(chromium) as context:
        yield context


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real Kafka broker shared by all tests; each test uses its own topic."""
    with running_broker(tmp_path_factory.mktemp("broker"), stable_port()) as bootstrap:
        yield Broker(bootstrap)


@pytest.fixture(scope="session")
def new_home(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Home]:
    """Creates homes on the shared broker, each with its own topic; arguments are further settings."""

    def make(**more: str) -> Home:
        path: Path = tmp_path_factory.mktemp("at") / "home"
        path.mkdir()
        return Home(path, broker.bootstrap, f"events-{uuid4().hex}", more)

    return make


@pytest.fixture(scope="session")
def caught_up_home(new_home: Callable[..., Home]) -> Home:
    """A home whose jobs have caught up with a real access log, if present, and with a sample.

    The log is from 2015, the sample from 2026. Read-only: copy the home to change it.
    """
    home = new_home()
    if REAL_LOG.is_file():
        home.must("load", str(REAL_LOG), "--format", "access-log")
    home.must("produce", "--events", str(SAMPLE_EVENTS), "--seed", "7")
    home.must("run", *JOBS, "--once")
    return home
