"""Retention, a topic that is made again, and partitions that are added: noticed, named, and gone on from."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from pyspark.sql import SparkSession

from bronze.job import ingest
from bronze.recover import recover_job
from kit.pipeline import read_rows
from kit.polling import eventually
from kit.spark import empty_home
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext, JobListener
from lakehouse.settings import Settings
from millrace.audit.comparisons import run_audit
from millrace.tables.topic_state import read_topics


class Lines(JobListener):
    """Keeps what a job logs."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, job: str, line: str) -> None:
        self.lines.append(line)


@dataclass
class Life:
    """A topic, and a bronze that reads it."""

    spark: SparkSession
    settings: Settings
    admin: KafkaAdminClient
    log: Lines = field(default_factory=Lines)

    @property
    def topic(self) -> str:
        return self.settings.events_topic

    def create(self, partitions: int = 1) -> None:
        self.admin.create_topics([NewTopic(self.topic, partitions, 1)], wait_for_metadata=True)

    def create_again(self, partitions: int = 1) -> None:
        self.admin.delete_topics([self.topic])
        eventually(lambda: self.topic not in self.admin.list_topics(), 30, "the topic to go")
        self.create(partitions)

    def send(self, values: str, partition: int = 0) -> None:
        """One record for each letter."""
        producer = KafkaProducer(
            bootstrap_servers=self.settings.bootstrap, acks="all"
        )  # knows partitions of now
        for value in values:
            producer.send(self.topic, value.encode(), partition=partition).get(30)
        producer.close()

    def delete_before(self, offset: int, partition: int = 0) -> None:
        """What retention does, at once."""
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

    def wrong(self) -> list[str]:
        """What the audit finds wrong."""
        return [finding.detail for finding in run_audit(self.settings) if not finding.is_right]

    def found(self) -> str:
        """All that the audit reports."""
        return "\n".join(f"{finding.what}: {finding.detail}" for finding in run_audit(self.settings))


@pytest.fixture
def life(spark: SparkSession, broker: Any, tmp_path: Path) -> Iterator[Life]:
    topic = f"events-{uuid4().hex}"
    settings = empty_home(
        spark,
        tmp_path,
        kafka_bootstrap=broker.bootstrap,
        events_topic=topic,
        exchange_rates_topic=f"{topic}-rates",
    )
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    yield Life(spark, settings, admin)
    admin.close()


def test_records_deleted_unread_stop_ingest_until_the_loss_is_accepted(life: Life) -> None:
    life.create()
    life.send("abcde")
    assert life.ingest() == "abcde"
    life.send("fghijkl")
    life.delete_before(9)  # f to i were never read

    with pytest.raises(MillraceError, match=r"/0 5 to 8\. `millrace recover \S+ --accept-loss`"):
        life.ingest()
    assert life.bronze() == "abcde"
    (trouble,) = read_topics(life.settings).troubles
    assert life.wrong() == [f"{trouble.problem}: {trouble.next_step}"]
    with pytest.raises(MillraceError, match="--accept-loss"):
        life.recover("--from-beginning")

    life.recover("--accept-loss")
    assert life.ingest() == "abcdejkl"
    assert life.wrong() == []
    assert "8 in bronze, 0 not ingested yet, 0 lost; offsets 5 to 8 lost in Kafka" in life.found()
    life.recover("--accept-loss")
    assert life.log.lines[-1].startswith("nothing is to be recovered")


@pytest.mark.parametrize("again", [pytest.param("vw", marks=pytest.mark.long), "vwxyzuts"])
def test_topic_made_again_is_read_beside_the_old_one(life: Life, again: str) -> None:
    life.create()
    life.send("abcd")
    assert life.ingest() == "abcd"
    life.create_again(partitions=2)
    life.send(again)
    life.send("q", partition=1)

    with pytest.raises(MillraceError, match=r"made again.*`millrace recover \S+ --from-beginning`"):
        life.ingest()
    assert life.bronze() == "abcd"
    assert len(life.wrong()) == 1
    with pytest.raises(MillraceError, match="--from-beginning"):
        life.recover("--accept-loss")

    life.recover("--from-beginning")
    assert life.ingest() == f"abcd{again}q"
    places = {row["partition"] for row in read_rows(life.settings, "bronze.kafka_records", ("partition",))}
    assert places == {0, 100_000, 100_001}
    assert life.wrong() == []
    assert "generation 0: 4 in bronze; what it had from offset 4 on lost in Kafka" in life.found()
    life.send("!")
    assert life.ingest() == f"abcd{again}!q"


def test_added_partition_is_read_from_its_beginning_with_one_line(life: Life) -> None:
    life.create()
    life.send("ab")
    assert life.ingest() == "ab"
    before = list(life.log.lines)
    life.admin.create_partitions({life.topic: 2})
    eventually(lambda: len(life.admin.describe_topics([life.topic])[0]["partitions"]) == 2, 30, "it")
    life.send("xyz", partition=1)
    assert life.ingest() == "abxyz"
    (line,) = [line for line in life.log.lines if line not in before]
    assert line == f"the topic {life.topic} has new partitions: 1; they are read from their beginning"
    assert life.wrong() == []


def test_topic_made_again_stops_a_running_ingest(life: Life) -> None:
    life.create()
    life.send("abcd")
    failed: list[BaseException] = []
    run = life.run(once=False)
    thread = threading.Thread(target=lambda: _keep(failed, lambda: ingest(run)))
    thread.start()
    try:
        eventually(
            lambda: (life.settings.warehouse / "bronze").exists() and life.bronze() == "abcd", 60, "abcd"
        )
        life.create_again()
        life.send("vwxyzuts")
        eventually(lambda: not thread.is_alive(), 90, "ingest to stop")
    finally:
        run.stop.set()
        thread.join()
    assert "--from-beginning" in str(failed)
    assert life.bronze() == "abcd"


def _keep(failed: list[BaseException], action: Callable[[], object]) -> None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - looked at by the test
        failed.append(error)
