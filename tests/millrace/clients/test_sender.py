"""Against a real broker: everything arrives once, and the manifest knows exactly what."""

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from kit.polling import eventually
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from millrace.clients import sender as sender_module
from millrace.clients import topic as topic_module
from millrace.clients.checksum import as_hex, values_checksum
from millrace.clients.delivery import deliver
from millrace.clients.loading import load_file
from millrace.clients.manifest import new_manifest
from millrace.clients.producing import Wanted, produce
from millrace.clients.record import Record
from millrace.clients.stopping import Stop
from millrace.clients.topic import ensure_topic
from millrace.workspace import records
from millrace.workspace.broker import running_broker
from millrace.workspace.ports import free_port

SAMPLE = Path(__file__).resolve().parents[4] / "shared" / "data" / "apache_logs.log"


@pytest.fixture
def settings(broker, tmp_path) -> Settings:
    return settings_for(broker.bootstrap, tmp_path)


def settings_for(bootstrap: str, home: Path) -> Settings:
    topic = f"events-{uuid4().hex}"
    return load_settings(
        home=home, kafka_bootstrap=bootstrap, events_topic=topic, exchange_rates_topic=f"{topic}-rates"
    )


def in_topic(settings: Settings) -> list:
    """All records of the topic, from each partition's start to its end."""
    consumer = KafkaConsumer(bootstrap_servers=settings.bootstrap, enable_auto_commit=False)
    parts = [
        TopicPartition(settings.events_topic, number)
        for number in consumer.partitions_for_topic(settings.events_topic)
    ]
    ends = consumer.end_offsets(parts)
    consumer.assign(parts)
    consumer.seek_to_beginning(*parts)
    found: list = []

    def all_read() -> bool:
        for batch in consumer.poll(timeout_ms=200).values():
            found.extend(batch)
        return all(consumer.position(part) >= ends[part] for part in parts)

    eventually(all_read)
    consumer.close()
    return found


def told_by(path: Path) -> dict:
    return json.loads(path.read_text())


def numbered(count: int) -> list[Record]:
    return [Record(b"key %d" % (number % 50), b"value %d" % number) for number in range(count)]


def test_everything_arrives_once_under_its_key_with_the_manifest_in_a_header(settings):
    given = [*numbered(5000), Record(None, b"no key"), Record(b"empty", b""), Record(b"twice", b"x")]
    manifest = new_manifest(settings.home, "load", "here", settings.events_topic)
    deliver(given, manifest, settings.bootstrap, Stop())
    arrived = in_topic(settings)
    assert sorted((r.key or b"-", r.value) for r in arrived) == sorted(
        (r.key or b"-", r.value) for r in given
    )
    assert {tuple(r.headers) for r in arrived} == {(("manifest", manifest.id.encode()),)}
    told = told_by(manifest.path)
    assert (told["status"], told["records"], told["unconfirmed"]) == ("complete", len(given), 0)
    assert told["checksum"] == as_hex(values_checksum(r.value for r in arrived))
    spans = {str(p): {"first": 0, "last": n - 1} for p, n in counted(r.partition for r in arrived).items()}
    assert told["offsets"] == spans
    assert len({(r.key, r.partition) for r in arrived if r.key}) == len({r.key for r in arrived if r.key})


def counted(items) -> dict:
    found: dict = {}
    for item in items:
        found[item] = found.get(item, 0) + 1
    return found


def test_the_topic_is_made_to_keep_everything_and_an_existing_one_is_left_alone(settings):
    for _ in range(2):
        ensure_topic(settings.bootstrap, settings.events_topic)
    admin = KafkaAdminClient(bootstrap_servers=settings.bootstrap)
    resource = ConfigResource(ConfigResourceType.TOPIC, settings.events_topic)
    configs = str(admin.describe_configs([resource]))
    partitions = admin.describe_topics([settings.events_topic])[0]["partitions"]
    admin.close()
    assert len(partitions) == topic_module.PARTITIONS
    assert "LogAppendTime" in configs
    assert "retention.ms" in configs


def test_the_real_log_goes_whole_and_a_second_time_the_same(settings):
    if not SAMPLE.is_file():
        pytest.skip(f"the real log is not there: {SAMPLE}")
    first, second = (load_file(settings, str(SAMPLE), "access-log", None) for _ in range(2))
    assert first.manifest.records == second.manifest.records == 10_000
    assert first.manifest.checksum == second.manifest.checksum
    assert first.rejected.count == 0
    assert len(in_topic(settings)) == 20_000


def test_lines_that_cannot_be_sent_are_set_aside_and_the_others_go(settings, tmp_path):
    file = tmp_path / "events.jsonl"
    noise = os.urandom(7_000_000).hex().encode()
    file.write_bytes(b'{"anonymousId":"a"}\n{"noise":"' + noise + b'"}\n\nnot json\n' + noise[:6_000_000])
    loaded = load_file(settings, str(file), "segment", None)
    assert sorted(len(r.value) for r in in_topic(settings)) == [8, 19, 6_000_000]
    assert loaded.rejected.summary() == "line 2"
    told = told_by(loaded.manifest.path)
    assert (told["records"], told["set_aside"], told["status"]) == (3, 1, "complete")


def test_a_topic_of_small_records_takes_the_small_ones(settings):
    admin = KafkaAdminClient(bootstrap_servers=settings.bootstrap)
    limit = {"num_partitions": 1, "replication_factor": 1, "configs": {"max.message.bytes": "20000"}}
    admin.create_topics({settings.events_topic: limit}, wait_for_metadata=True)
    admin.close()
    given = [*numbered(3000), Record(None, os.urandom(19_000)), Record(b"k", b"last")]
    refused: list[Record] = []
    manifest = new_manifest(settings.home, "load", "here", settings.events_topic)
    deliver(given, manifest, settings.bootstrap, Stop(), on_refused=refused.append)
    assert refused == [given[-2]]
    assert manifest.records == len(in_topic(settings)) == len(given) - 1


def test_produced_traffic_is_what_the_generator_makes(settings):
    manifest, _ = produce(settings, Wanted(events=3000, seed=11))
    again, _ = produce(settings, Wanted(events=3000, seed=11))
    assert manifest.records == 3000
    assert manifest.checksum == again.checksum
    assert len({r.value for r in in_topic(settings)}) < 3000  # copies, and everything twice


@pytest.mark.parametrize(("endless", "status"), [(False, "incomplete"), (True, "complete")])
def test_a_stop_ends_after_the_record_in_hand(settings, endless, status):
    stop = Stop()

    def source():
        for number, record in enumerate(numbered(1000)):
            stop.requested = number == 99
            yield record

    manifest = new_manifest(settings.home, "load", "here", settings.events_topic)
    deliver(source(), manifest, settings.bootstrap, stop, endless=endless)
    assert len(in_topic(settings)) == 100
    told = told_by(manifest.path)
    assert (told["records"], told["unconfirmed"], told["status"]) == (100, 0, status)


def test_a_source_that_fails_leaves_a_manifest_of_what_went(settings):
    def source():
        yield from numbered(10)
        raise OSError("the disk is gone")

    manifest = new_manifest(settings.home, "load", "here", settings.events_topic)
    with pytest.raises(OSError, match="disk"):
        deliver(source(), manifest, settings.bootstrap, Stop())
    told = told_by(manifest.path)
    assert told["status"] == "incomplete"
    assert told["records"] + told["unconfirmed"] == 10


def test_no_broker_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setattr(topic_module, "CONNECT_SECONDS", 1)
    settings = settings_for(f"127.0.0.1:{free_port()}", tmp_path)
    with pytest.raises(MillraceError, match="no Kafka broker answers at 127") as told:
        produce(settings, Wanted(events=10))
    assert "millrace up --broker" in told.value.next_step
    assert "MILLRACE_KAFKA_BOOTSTRAP" in told.value.next_step
    (manifest,) = (tmp_path / "manifests").glob("*.json")
    assert told_by(manifest)["status"] == "incomplete"


def test_a_broker_that_goes_away_ends_the_load_with_exact_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(sender_module, "_PENDING_RECORDS", 2000)
    home, port = tmp_path / "broker", free_port()
    home.mkdir()

    def source():
        for number, record in enumerate(numbered(1_000_000)):
            if number == 20_000:
                records.running(home, "broker").send_signal(signal.SIGKILL)
            yield record

    with running_broker(home, port) as bootstrap:
        settings = settings_for(bootstrap, tmp_path)
        manifest = new_manifest(settings.home, "load", "here", settings.events_topic)
        with pytest.raises(MillraceError, match="went away") as told:
            deliver(source(), manifest, bootstrap, Stop(), patience=timedelta(seconds=3))
    assert (
        f"{manifest.records:,} records are confirmed, {manifest.unconfirmed:,} are not" in told.value.problem
    )
    assert manifest.records >= 15_000
    assert told_by(manifest.path)["status"] == "incomplete"
    with running_broker(home, port):
        arrived = in_topic(settings)
    assert manifest.records <= len(arrived) <= manifest.records + manifest.unconfirmed
    assert len({r.value for r in arrived}) == len(arrived)


def started(settings: Settings, *arguments: str, **more) -> subprocess.Popen:
    environment = os.environ | {
        "MILLRACE_HOME": str(settings.home),
        "MILLRACE_KAFKA_BOOTSTRAP": settings.bootstrap,
        "MILLRACE_EVENTS_TOPIC": settings.events_topic,
        "MILLRACE_EXCHANGE_RATES_TOPIC": settings.exchange_rates_topic,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-m", "millrace", *arguments]
    return subprocess.Popen(
        command, env=environment, text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **more
    )


def confirmed(settings: Settings) -> int:
    return sum(told_by(path)["records"] for path in (settings.home / "manifests").glob("*-produce-*.json"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_live_traffic_ends_by_a_signal_and_all_of_it_is_confirmed(settings, number):
    with started(settings, "produce", "--rate", "200") as process:
        try:
            eventually(lambda: confirmed(settings) > 0, seconds=40)
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")
    (path,) = (settings.home / "manifests").glob("*-produce-*.json")
    told = told_by(path)
    assert (told["status"], told["records"]) == ("complete", len(in_topic(settings)))
    assert f"{told['records']:,} records sent, 0 unconfirmed" in out


def test_a_silent_pipe_is_left_by_a_signal(settings):
    with started(settings, "load", "-", "--format", "segment", stdin=subprocess.PIPE) as process:
        try:
            process.stdin.write('{"anonymousId":"a"}\n')
            process.stdin.flush()
            eventually((settings.home / "manifests").exists, seconds=40)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
        finally:
            process.kill()
        err = process.stderr.read()
    assert process.returncode == 1
    assert "stopped with" in err
    assert "Traceback" not in err
