"""A Kafka broker that requires a login: clients, jobs and the audit use it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bronze.job import ingest
from kit.broker_profiles import secured_home, track
from kit.collecting import collector
from kit.home import Home
from kit.pipeline import read_rows
from kit.polling import eventually
from kit.spark import forget_tables
from lakehouse.run.job import JobContext
from millrace.audit.comparisons import run_audit
from millrace.local.kafka.broker_setup import prepare_broker
from millrace.local.kafka.kafka_health import cluster_id
from millrace.local.process.child_process import Child
from millrace.local.process.ports import stable_port

_LOGIN = {"MILLRACE_KAFKA_USERNAME": "reader", "MILLRACE_KAFKA_PASSWORD": 'a "quoted" \\ word'}
_SASL_SETTINGS = {
    "MILLRACE_KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
    "MILLRACE_KAFKA_SASL_MECHANISM": "PLAIN",
}
_SERVER_PROPERTIES = """
listener.security.protocol.map=BROKER:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.broker.plain.sasl.jaas.config=\\
  org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="broker" password="own" user_broker="own" user_reader="a \\\\"quoted\\\\" \\\\\\\\ word";
"""


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that requires a password."""
    home, port = tmp_path_factory.mktemp("locked"), stable_port()
    program = prepare_broker(home, port)
    properties = home / "kafka" / "server.properties"
    properties.write_text(properties.read_text() + _SERVER_PROPERTIES)
    broker = Child(program)
    login = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "broker",
        "sasl_plain_password": "own",
    }
    try:
        eventually(lambda: cluster_id(f"127.0.0.1:{port}", login=login), 60, "the broker answers")
        yield f"127.0.0.1:{port}"
    finally:
        broker.stop(8)


def test_clients_with_login_can_produce_ingest_and_audit(
    spark: SparkSession, bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path, bootstrap, "events", {**_LOGIN, **_SASL_SETTINGS})
    home.must("produce", "--events", "500")
    for name, value in home.more.items():
        monkeypatch.setenv(name, value)
    forget_tables(spark)
    ingest(JobContext("ingest", spark.newSession(), home.settings, once=True))
    assert [finding for finding in run_audit(home.settings) if not finding.is_right] == []
    assert len(read_rows(home.settings, "bronze.kafka_records", ("offset",))) > 400


NO_LOGIN, WRONG_PASSWORD = _SASL_SETTINGS, _SASL_SETTINGS | _LOGIN | {"MILLRACE_KAFKA_PASSWORD": "guessed"}
SENDING, INGEST = ("produce", "--events", "5"), ("run", "ingest", "--once")


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        pytest.param(SENDING, NO_LOGIN, id="producer without login"),
        pytest.param(SENDING, WRONG_PASSWORD, id="producer with wrong password"),
        pytest.param(INGEST, NO_LOGIN, id="ingest without login"),
        pytest.param(INGEST, WRONG_PASSWORD, id="ingest with wrong password", marks=pytest.mark.long),
    ],
)
def test_missing_or_wrong_login_is_reported(
    bootstrap: str, tmp_path: Path, command: tuple[str, ...], wrong: dict[str, str]
) -> None:
    home = Home(tmp_path, bootstrap, "events", wrong)
    done = home.run(*command)
    assert done.returncode == 1
    assert "MILLRACE_KAFKA_" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("security", ["sasl_ssl", "mtls"])
def test_workspace_with_secured_broker_runs_end_to_end(tmp_path: Path, security: str) -> None:
    home = secured_home(tmp_path, security)
    assert "has no login yet" in home.run("produce", "--events", "5").stderr
    assert "has no login yet" in " ".join(json.loads(home.must("status", "--json"))["notes"])
    home.must("up", "--broker")
    try:
        home.must("produce", "--events", "500")
        with collector(home, port := stable_port()) as node:
            assert track(port) == 200
            node.wait_until_forwarded()
        home.must("run", "ingest", "--once")
        assert "in use by this workspace's broker" in home.must("doctor", "--json")
        assert set(json.loads(home.must("status", "--json"))["lag"].values()) == {0}
        home.must("audit")
    finally:
        home.must("down")
    assert "Starting the local broker" in home.run("audit").stderr
    assert home.sql("SELECT count(*) > 400 FROM bronze.kafka_records") == [["true"]]
