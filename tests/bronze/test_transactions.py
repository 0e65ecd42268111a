"""Records of aborted transactions never reach bronze, and the audit does not report them as lost."""

import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
from pyspark.sql import SparkSession

from bronze.job import ingest
from bronze.kafka import count_records, offset_spans
from kit.pipeline import read_rows
from kit.polling import eventually
from kit.spark import empty_home
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from millrace.audit.comparisons import run_audit

_WRITER_SCRIPT = """
import sys
from kafka import KafkaProducer
bootstrap, topic = sys.argv[1:]
producer = KafkaProducer(
    bootstrap_servers=bootstrap,
    transactional_id=topic + "-killed",
    transaction_timeout_ms=900_000,  # so that a slow machine does not abort it first
)
producer.init_transactions()
producer.begin_transaction()
for number in range(3):
    producer.send(topic, b"killed", partition=0).get(30)
print("written", flush=True)
sys.stdin.read()
"""


def write_transaction(producer: KafkaProducer, topic: str, value: bytes, commit: bool) -> None:
    """Write three records in one transaction."""
    producer.begin_transaction()
    for _ in range(3):
        producer.send(topic, value, partition=0)
    producer.flush()
    if commit:
        producer.commit_transaction()
    else:
        producer.abort_transaction()


def write_and_kill_producer(bootstrap: str, topic: str) -> None:
    """Write three records by a process that is killed before it commits them."""
    command = [sys.executable, "-c", _WRITER_SCRIPT, bootstrap, topic]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.kill()


def abort_open_transaction(bootstrap: str, topic: str) -> None:
    """Abort at once what the broker aborts after a time-out: a new producer of the same id does so."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"{topic}-killed")
    producer.init_transactions()
    producer.close()


def end_of(settings: Settings) -> int:
    return sum(end for _, end in offset_spans(settings).values())


def test_aborted_transactions_are_skipped_and_committed_ones_read_once(
    spark: SparkSession, broker: Any, tmp_path: Path
) -> None:
    topic = f"events-{uuid4().hex}"
    settings = empty_home(spark, tmp_path, kafka_bootstrap=broker.bootstrap, events_topic=topic)
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.create_topics([NewTopic(topic, 1, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=topic)

    def bronze() -> list[bytes]:
        ingest(JobContext("ingest", spark.newSession(), settings, once=True))
        rows = read_rows(settings, "bronze.kafka_records", ("offset", "value"))
        return [row["value"] for row in sorted(rows, key=lambda row: row["offset"])]

    try:
        producer.init_transactions()
        write_transaction(producer, topic, b"first", commit=True)
        write_transaction(producer, topic, b"aborted", commit=False)
        write_and_kill_producer(broker.bootstrap, topic)
        write_transaction(producer, topic, b"behind", commit=True)
        open_at = end_of(settings)
        assert bronze() == [b"first"] * 3  # records behind an open transaction are not read yet
        abort_open_transaction(broker.bootstrap, topic)
        eventually(lambda: end_of(settings) > open_at, 60, "the broker to abort it")
        assert bronze() == [b"first"] * 3 + [b"behind"] * 3
    finally:
        producer.close()

    ((place, (first, end)),) = offset_spans(settings).items()
    assert end > 12  # records and markers of all four transactions
    assert count_records(settings, place, first, end) == 6
    findings = list(run_audit(settings))
    assert [str(finding) for finding in findings if not finding.is_right] == []
    (of_topic,) = [finding.detail for finding in findings if finding.what == f"{topic}/0"]
    assert of_topic.startswith("6 in bronze, ")
    assert of_topic.endswith(" 0 lost")
