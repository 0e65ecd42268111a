"""The local Kafka broker: durable records, and errors at start."""

import signal
import socket

import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from kit.polling import eventually
from lakehouse.errors import MillraceError
from millrace.clients.topic import ensure_topic
from millrace.local.kafka import broker, broker_setup
from millrace.local.kafka.kafka_health import cluster_id
from millrace.local.process import process_registry
from millrace.local.process.ports import free_port

SENT = [f"record {number}".encode() for number in range(500)]


@pytest.mark.long
def test_records_survive_a_kill_of_the_broker(home):
    port = free_port()
    with broker.running_broker(home, port) as bootstrap:
        identity = cluster_id(bootstrap)
        send(bootstrap)
        process = process_registry.running(home, "broker")
        process.send_signal(signal.SIGKILL)
        eventually(lambda: cluster_id(bootstrap) is None)
    with broker.running_broker(home, port) as bootstrap:
        assert cluster_id(bootstrap) == identity
        assert received(bootstrap) == sorted(SENT)
        process = process_registry.running(home, "broker")
    assert not process.is_running()
    assert cluster_id(bootstrap) is None
    assert "Kafka Server started" in broker_setup.server_log(home).read_text()


def test_unknown_topic_is_not_created_by_a_producer(broker):
    failed = []
    quick = {"message.timeout.ms": 3000, "topic.metadata.propagation.max.ms": 100, "log_level": 0}
    producer = Producer({"bootstrap.servers": broker.bootstrap, **quick})
    producer.produce("evnets", b"x", on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(10) == 0
    assert failed[0] is not None
    assert "evnets" not in producer.list_topics(timeout=10).topics


def test_taken_port_is_reported_with_its_process_before_start(home):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(
            MillraceError, match=rf"port {port}, for the broker, is taken by .*pid \d+"
        ) as reported:
            broker.running_broker(home, port).__enter__()
    assert "MILLRACE_BROKER_PORT=" in reported.value.next_step
    assert f"MILLRACE_KAFKA_BOOTSTRAP=127.0.0.1:{port}" in reported.value.next_step
    assert not (home / "kafka").exists()


def test_foreign_data_folder_is_rejected(home):
    (home / "kafka" / "data").mkdir(parents=True)
    with pytest.raises(MillraceError, match="is not the data of a Kafka"):
        broker_setup.prepare_broker(home, free_port())


def test_failed_start_of_broker_reports_reason(home):
    data = home / "kafka" / "data"
    data.mkdir(parents=True)
    data.joinpath("meta.properties").write_text(
        "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=7\ndirectory.id=BBBBBBBBBBBBBBBBBBBBBA\n"
    )
    with (
        pytest.raises(MillraceError, match=r"the broker does not come up: .*node") as reported,
        broker.running_broker(home, free_port()),
    ):
        pass
    assert "broker.log" in reported.value.next_step
    assert process_registry.running(home, "broker") is None


def send(bootstrap: str) -> None:
    ensure_topic(bootstrap, "events")
    producer = KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
    for value in SENT:
        producer.send("events", value)
    producer.flush()
    producer.close()


def received(bootstrap: str) -> list[bytes]:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
    parts = [TopicPartition("events", number) for number in consumer.partitions_for_topic("events")]
    consumer.assign(parts)
    consumer.seek_to_beginning(*parts)
    found: list[bytes] = []

    def all_there() -> bool:
        for batch in consumer.poll(timeout_ms=200).values():
            found.extend(record.value for record in batch)
        return len(found) >= len(SENT)

    eventually(all_there)
    consumer.close()
    return sorted(found)
