"""Sending to a real broker: every record arrives once, as the manifest states."""

import os
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from kit.sending import in_topic, numbered, told_by
from millrace.clients import topic as topic_module
from millrace.clients.checksum import as_hex, value_digest
from millrace.clients.load_file import load_file
from millrace.clients.manifest import new_manifest
from millrace.clients.produce_sample import Wanted, produce
from millrace.clients.record import Record
from millrace.clients.send import deliver
from millrace.clients.topic import ensure_topic
from millrace.shutdown_signal import ShutdownSignal

SAMPLE = Path(__file__).resolve().parents[4] / "shared" / "data" / "apache_logs.log"


def test_records_arrive_once_with_key_and_manifest_header(settings):
    given = [*numbered(5000), Record(None, b"no key"), Record(b"empty", b""), Record(b"twice", b"x")]
    manifest = new_manifest(settings.home, "load", "here", settings.events_topic)
    deliver(given, manifest, settings.bootstrap, ShutdownSignal())
    arrived = in_topic(settings)
    assert sorted((r.key or b"-", r.value) for r in arrived) == sorted(
        (r.key or b"-", r.value) for r in given
    )
    assert {tuple(r.headers) for r in arrived} == {(("manifest", manifest.id.encode()),)}
    reported = told_by(manifest.path)
    assert (reported["status"], reported["records"], reported["unconfirmed"]) == ("complete", len(given), 0)
    assert reported["checksum"] == as_hex(sum(value_digest(r.value) for r in arrived))
    spans = {
        str(p): {"first": 0, "last": n - 1} for p, n in count_by_value(r.partition for r in arrived).items()
    }
    assert reported["offsets"] == spans
    assert len({(r.key, r.partition) for r in arrived if r.key}) == len({r.key for r in arrived if r.key})


def count_by_value(items) -> dict:
    found: dict = {}
    for item in items:
        found[item] = found.get(item, 0) + 1
    return found


def test_ensured_topic_has_its_partitions_and_log_append_time(settings):
    for _ in range(2):
        ensure_topic(settings.bootstrap, settings.events_topic)
    partitions, configs = described(settings)
    assert partitions == topic_module.PARTITIONS
    assert topic_module.TOPIC_CONFIGS.items() <= configs.items()
    assert (configs["message.timestamp.type"], configs["retention.ms"]) == ("LogAppendTime", "-1")


def test_existing_topic_is_left_as_it_is(settings):
    admin = KafkaAdminClient(bootstrap_servers=settings.bootstrap)
    own = {"retention.ms": "86400000", "message.timestamp.type": "CreateTime", "max.message.bytes": "20000"}
    made = {"num_partitions": 1, "replication_factor": 1, "configs": own}
    admin.create_topics({settings.events_topic: made}, wait_for_metadata=True)
    admin.close()
    before = described(settings)
    assert own.items() <= before[1].items()
    assert ensure_topic(settings.bootstrap, settings.events_topic).largest == 20_000
    assert described(settings) == before


def described(settings) -> tuple[int, dict[str, str]]:
    """Number of partitions and configuration of the topic."""
    admin, topic = KafkaAdminClient(bootstrap_servers=settings.bootstrap), settings.events_topic
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    configs = admin.describe_configs([resource], config_filter="all")["topic"][topic]
    partitions = admin.describe_topics([topic])[0]["partitions"]
    admin.close()
    return len(partitions), {name: config["value"] for name, config in configs.items()}


def test_real_log_is_loaded_completely_and_repeatably(settings):
    if not SAMPLE.is_file():
        pytest.skip(f"the real log is not there: {SAMPLE}")
    first, second = (load_file(settings, str(SAMPLE), "access-log", None) for _ in range(2))
    assert first.manifest.records == second.manifest.records == 10_000
    assert first.manifest.checksum == second.manifest.checksum
    assert first.rejected.count == 0
    assert len(in_topic(settings)) == 20_000


def test_oversized_lines_are_rejected_and_others_are_sent(settings, tmp_path):
    file = tmp_path / "events.jsonl"
    noise = os.urandom(7_000_000).hex().encode()
    file.write_bytes(b'{"anonymousId":"a"}\n{"noise":"' + noise + b'"}\n\nnot json\n' + noise[:6_000_000])
    loaded = load_file(settings, str(file), "segment", None)
    assert sorted(len(r.value) for r in in_topic(settings)) == [8, 19, 6_000_000]
    assert loaded.rejected.summary() == "line 2"
    reported = told_by(loaded.manifest.path)
    assert (reported["records"], reported["set_aside"], reported["status"]) == (3, 1, "complete")


def test_records_above_limit_of_topic_are_rejected(settings):
    admin = KafkaAdminClient(bootstrap_servers=settings.bootstrap)
    limit = {"num_partitions": 1, "replication_factor": 1, "configs": {"max.message.bytes": "20000"}}
    admin.create_topics({settings.events_topic: limit}, wait_for_metadata=True)
    admin.close()
    given = [*numbered(3000), Record(None, os.urandom(19_000)), Record(b"k", b"last")]
    refused: list[Record] = []
    manifest = new_manifest(settings.home, "load", "here", settings.events_topic)
    deliver(given, manifest, settings.bootstrap, ShutdownSignal(), on_refused=refused.append)
    assert refused == [given[-2]]
    assert manifest.records == len(in_topic(settings)) == len(given) - 1


def test_produced_traffic_has_equal_checksum_for_equal_seed(settings):
    manifest, _ = produce(settings, Wanted(events=3000, seed=11))
    again, _ = produce(settings, Wanted(events=3000, seed=11))
    assert manifest.records == 3000
    assert manifest.checksum == again.checksum
    assert len({r.value for r in in_topic(settings)}) < 3000  # copies, and everything twice
