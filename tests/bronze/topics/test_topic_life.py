"""Ingest detects deleted records, recreated topics and added partitions, and continues after recovery."""

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from deltalake import DeltaTable
from kafka import KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from pyspark.sql import SparkSession

from bronze.job import ingest
from bronze.recover import recover_job
from kit.pipeline import read_rows
from kit.polling import eventually
from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.contracts.silver import EXCHANGE_RATES
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext, JobListener
from lakehouse.settings import Settings
from millrace.audit.comparisons import run_audit
from millrace.tables.topic_state import read_topics
from silver.rebuild_definitions import DEFINITIONS


class LogCollector(JobListener):
    """Collects the log lines of a job."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, job: str, line: str) -> None:
        self.lines.append(line)


@dataclass
class IngestedTopic:
    """A Kafka topic, and the bronze table that ingests it."""

    spark: SparkSession
    settings: Settings
    admin: KafkaAdminClient
    log: LogCollector = field(default_factory=LogCollector)

    @property
    def topic(self) -> str:
        return self.settings.events_topic

    def create(self, partitions: int = 1) -> None:
        self.admin.create_topics([NewTopic(self.topic, partitions, 1)], wait_for_metadata=True)

    def recreate(self, partitions: int = 1) -> None:
        self.admin.delete_topics([self.topic])
        eventually(lambda: self.topic not in self.admin.list_topics(), 30, "the topic to go")
        self.create(partitions)

    def send(self, values: str, partition: int = 0) -> None:
        """One record for each letter."""
        producer = KafkaProducer(
            bootstrap_servers=self.settings.bootstrap, acks="all"
        )  # a new producer knows added partitions
        for value in values:
            producer.send(self.topic, value.encode(), partition=partition).get(30)
        producer.close()

    def delete_before(self, offset: int, partition: int = 0) -> None:
        """Delete records as retention does, but at once."""
        self.admin.delete_records({TopicPartition(self.topic, partition): offset})

    def run(self, once: bool = True) -> JobContext:
        return JobContext("ingest", self.spark.newSession(), self.settings, once, listener=self.log)

    def ingest(self) -> str:
        ingest(self.run())
        return self.bronze()

    def recover(self, option: str) -> None:
        recover_job(self.topic, option, "Ada").body(self.run())

    def bronze(self) -> str:
        """The values held, by partition and offset, one letter each; every key once."""
        rows = read_rows(self.settings, "bronze.kafka_records", ("partition", "offset", "value"))
        rows.sort(key=lambda row: (row["partition"], row["offset"]))
        assert len({(row["partition"], row["offset"]) for row in rows}) == len(rows)
        return b"".join(row["value"] for row in rows).decode()

    def audit_errors(self) -> list[str]:
        """The errors that the audit reports."""
        return [finding.detail for finding in run_audit(self.settings) if not finding.is_right]

    def audit_report(self) -> str:
        """All findings of the audit."""
        return "\n".join(f"{finding.what}: {finding.detail}" for finding in run_audit(self.settings))


@pytest.fixture
def ingested(spark: SparkSession, broker: Any, tmp_path: Path) -> Iterator[IngestedTopic]:
    topic = f"events-{uuid4().hex}"
    settings = empty_home(
        spark,
        tmp_path,
        kafka_bootstrap=broker.bootstrap,
        events_topic=topic,
        exchange_rates_topic=f"{topic}-rates",
        campaign_costs_topic=f"{topic}-costs",
    )
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    yield IngestedTopic(spark, settings, admin)
    admin.close()


def test_unread_deleted_records_stop_ingest_until_loss_is_accepted(ingested: IngestedTopic) -> None:
    ingested.create()
    ingested.send("abcde")
    assert ingested.ingest() == "abcde"
    ingested.send("fghijkl")
    ingested.delete_before(9)  # f to i were never read

    with pytest.raises(MillraceError, match=r"/0 5 to 8\. `millrace recover \S+ --accept-loss`"):
        ingested.ingest()
    assert ingested.bronze() == "abcde"
    (trouble,) = read_topics(ingested.settings).troubles
    assert ingested.audit_errors() == [f"{trouble.problem}: {trouble.next_step}"]
    with pytest.raises(MillraceError, match="--accept-loss"):
        ingested.recover("--from-beginning")

    ingested.recover("--accept-loss")
    assert ingested.ingest() == "abcdejkl"
    assert ingested.audit_errors() == []
    assert "8 in bronze, 0 not ingested yet, 0 lost; offsets 5 to 8 lost in Kafka" in ingested.audit_report()
    ingested.recover("--accept-loss")
    assert ingested.log.lines[-1].startswith("nothing is to be recovered")


@pytest.mark.parametrize("again", [pytest.param("vw", marks=pytest.mark.long), "vwxyzuts"])
def test_recreated_topic_is_read_under_new_partition_numbers(ingested: IngestedTopic, again: str) -> None:
    ingested.create()
    ingested.send("abcd")
    assert ingested.ingest() == "abcd"
    ingested.recreate(partitions=2)
    ingested.send(again)
    ingested.send("q", partition=1)

    with pytest.raises(MillraceError, match=r"made again.*`millrace recover \S+ --from-beginning`"):
        ingested.ingest()
    assert ingested.bronze() == "abcd"
    assert len(ingested.audit_errors()) == 1
    with pytest.raises(MillraceError, match="--from-beginning"):
        ingested.recover("--accept-loss")

    ingested.recover("--from-beginning")
    assert ingested.ingest() == f"abcd{again}q"
    places = {
        row["partition"] for row in read_rows(ingested.settings, "bronze.kafka_records", ("partition",))
    }
    assert places == {0, 100_000, 100_001}
    assert ingested.audit_errors() == []
    assert "generation 0: 4 in bronze; what it had from offset 4 on lost in Kafka" in ingested.audit_report()
    ingested.send("!")
    assert ingested.ingest() == f"abcd{again}!q"


@pytest.mark.long
def test_shorter_recreated_topic_is_detected_without_topic_ids_and_checkpoint(
    ingested: IngestedTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bronze.kafka.known_id", lambda _: "")  # as from old brokers
    ingested.create()
    ingested.send("abcd")
    assert ingested.ingest() == "abcd"
    ingested.recreate()
    ingested.send("vw")
    shutil.rmtree(ingested.settings.home / "checkpoints")
    with pytest.raises(MillraceError, match=r"ends at offset 2, bronze is at 4.*--from-beginning"):
        ingested.ingest()


@pytest.mark.long
def test_topic_of_another_name_is_read_from_its_first_record(ingested: IngestedTopic) -> None:
    ingested.create()
    ingested.send("abc")
    assert ingested.ingest() == "abc"
    before = ingested.topic
    ingested.settings = ingested.settings.model_copy(update={"events_topic": f"{before}-renamed"})
    ingested.create()
    ingested.send("xyz")
    ingested.delete_before(1)
    ingest(ingested.run())
    ingested.send("!")
    ingest(ingested.run())
    ingested.settings = ingested.settings.model_copy(update={"events_topic": before})
    ingested.send("d")
    ingest(ingested.run())
    rows = read_rows(ingested.settings, "bronze.kafka_records", ("topic", "offset", "value"))
    found = sorted((row["topic"].removeprefix(before), row["offset"], row["value"]) for row in rows)
    assert [(topic, value.decode()) for topic, _, value in found] == [
        *(("", letter) for letter in "abcd"),
        *(("-renamed", letter) for letter in "yz!"),
    ]


def test_topic_of_exchange_rates_keeps_its_name(ingested: IngestedTopic) -> None:
    ingested.create()
    rates = ingested.settings.exchange_rates_topic
    ingested.admin.create_topics([NewTopic(rates, 1, 1)], wait_for_metadata=True)
    ingested.send("abc")
    assert ingested.ingest() == "abc"
    ingested.settings = ingested.settings.model_copy(update={"exchange_rates_topic": f"{rates}-renamed"})
    ingested.send("d")
    assert ingested.ingest() == "abcd", "no rates were read from it"
    at = datetime(2026, 3, 1, tzinfo=timezone.utc)
    row = {
        "currency": "USD",
        "valid_from": at,
        "topic": rates,
        "partition": 0,
        "offset": 0,
        "ingested_at": at,
    }
    append_rows(ingested.settings.home, "silver.exchange_rates", [row])
    ingested.send("e")
    with pytest.raises(MillraceError, match=f"MILLRACE_EXCHANGE_RATES_TOPIC to {rates} again"):
        ingested.ingest()
    with pytest.raises(MillraceError, match=f"silver.exchange_rates has records of the topic {rates}"):
        DEFINITIONS[EXCHANGE_RATES.name].compute(ingested.run())
    ingested.settings = ingested.settings.model_copy(update={"exchange_rates_topic": rates})
    assert ingested.ingest() == "abcde"


def test_added_partition_is_read_from_beginning_and_logged_once(ingested: IngestedTopic) -> None:
    ingested.create()
    ingested.send("ab")
    assert ingested.ingest() == "ab"
    before = list(ingested.log.lines)
    ingested.admin.create_partitions({ingested.topic: 2})
    eventually(lambda: len(ingested.admin.describe_topics([ingested.topic])[0]["partitions"]) == 2, 30, "it")
    ingested.send("xyz", partition=1)
    assert ingested.ingest() == "abxyz"
    (line,) = [line for line in ingested.log.lines if line not in before]
    assert line == f"the topic {ingested.topic} has new partitions: 1; they are read from their beginning"
    assert ingested.audit_errors() == []


def test_recreated_topic_stops_running_ingest(ingested: IngestedTopic) -> None:
    ingested.create()
    ingested.send("abcd")
    failed: list[BaseException] = []
    run = ingested.run(once=False)
    thread = threading.Thread(target=lambda: _collect_error(failed, lambda: ingest(run)))
    thread.start()
    try:
        eventually(
            lambda: (ingested.settings.warehouse / "bronze").exists() and ingested.bronze() == "abcd",
            60,
            "abcd",
        )
        ingested.recreate()
        ingested.send("vwxyzuts")
        eventually(lambda: not thread.is_alive(), 90, "ingest to stop")
    finally:
        run.stop.set()
        thread.join()
    assert "--from-beginning" in str(failed)
    assert ingested.bronze() == "abcd"


@pytest.mark.long
@pytest.mark.parametrize("checkpoint", ["missing", "older"])
def test_ingest_goes_on_after_its_commits_have_left_the_log(
    ingested: IngestedTopic, tmp_path: Path, checkpoint: str
) -> None:
    current, older = ingested.settings.home / "checkpoints", tmp_path / "older"
    ingested.create()
    ingested.send("ab")
    assert ingested.ingest() == "ab"
    shutil.copytree(current, older)
    ingested.send("cd")
    assert ingested.ingest() == "abcd"
    shutil.rmtree(current)
    if checkpoint == "older":
        shutil.copytree(older, current)
    ingested.spark.sql("ALTER TABLE bronze.kafka_records SET TBLPROPERTIES ('compacted' = 'yes')")
    folder = ingested.settings.warehouse / "bronze" / "kafka_records"
    DeltaTable(folder).create_checkpoint()
    for version in range(DeltaTable(folder).version()):  # as Delta does after `delta.logRetentionDuration`
        (folder / "_delta_log" / f"{version:020}.json").unlink()
    ingested.send("ef")
    assert ingested.ingest() == "abcdef"


def _collect_error(failed: list[BaseException], action: Callable[[], object]) -> None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - asserted by the test
        failed.append(error)
