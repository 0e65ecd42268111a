"""Sending that is ended by the user, the source or the broker; the manifest counts confirmed records."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from types import SimpleNamespace

import pytest
from kafka.errors import KafkaConnectionError, KafkaTimeoutError
from kafka.future import Future

from kit.polling import eventually
from kit.sending import in_topic, numbered, settings_for, told_by
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.clients import sender as sender_module
from millrace.clients import topic as topic_module
from millrace.clients.manifest import new_manifest
from millrace.clients.produce_sample import Wanted, produce
from millrace.clients.send import deliver
from millrace.local.kafka.broker import running_broker
from millrace.local.process import process_registry
from millrace.local.process.ports import free_port
from millrace.shutdown_signal import ShutdownSignal


@pytest.mark.parametrize(("endless", "status"), [(False, "incomplete"), (True, "complete")])
def test_shutdown_request_ends_sending_after_current_record(settings, endless, status):
    stop = ShutdownSignal()

    def source():
        for number, record in enumerate(numbered(1000)):
            stop.requested = number == 99
            yield record

    manifest = new_manifest(settings.home, "load", "here", settings.events_topic)
    deliver(source(), manifest, settings.bootstrap, stop, endless=endless)
    assert len(in_topic(settings)) == 100
    reported = told_by(manifest.path)
    assert (reported["records"], reported["unconfirmed"], reported["status"]) == (100, 0, status)


def test_failing_source_leaves_incomplete_manifest(settings):
    def source():
        yield from numbered(10)
        raise OSError("the disk is gone")

    manifest = new_manifest(settings.home, "load", "here", settings.events_topic)
    with pytest.raises(OSError, match="disk"):
        deliver(source(), manifest, settings.bootstrap, ShutdownSignal())
    reported = told_by(manifest.path)
    assert reported["status"] == "incomplete"
    assert reported["records"] + reported["unconfirmed"] == 10


def test_missing_broker_fails_with_next_step(tmp_path, monkeypatch):
    monkeypatch.setattr(topic_module, "CONNECT_SECONDS", 1)
    settings = settings_for(f"127.0.0.1:{free_port()}", tmp_path)
    with pytest.raises(MillraceError, match="no Kafka broker answers at 127") as reported:
        produce(settings, Wanted(events=10))
    assert "millrace up --broker" in reported.value.next_step
    assert "MILLRACE_KAFKA_BOOTSTRAP" in reported.value.next_step
    (manifest,) = (tmp_path / "manifests").glob("*.json")
    assert told_by(manifest)["status"] == "incomplete"


class Acknowledgement(Future):
    """The pending acknowledgement of a record."""

    def get(self, timeout):
        if not self.is_done:
            raise KafkaTimeoutError(f"nothing within {timeout} s")
        return super().value


class FailingProducer:
    """A producer whose broker acknowledges 15 records, and then fails or stays silent."""

    def __init__(self, last):
        self.sent, self._last = 0, last

    def partitions_for(self, _topic):
        return {0}

    def send(self, _topic, _value, **_more):
        ack = Acknowledgement()
        if self.sent < 15:
            ack.success(SimpleNamespace(partition=0, offset=self.sent))
        elif self._last:
            ack.failure(self._last)
        self.sent += 1
        return ack

    def close(self, timeout):
        assert timeout == 0


@pytest.mark.parametrize(
    ("last", "reason"),
    [(KafkaConnectionError(), "KafkaConnectionError"), (None, "no answer in time")],
    ids=["error", "silence"],
)
def test_lost_broker_ends_load_with_incomplete_manifest(tmp_path, monkeypatch, last, reason):
    producer = FailingProducer(last)
    monkeypatch.setattr(sender_module, "_PENDING_RECORDS", 20)
    monkeypatch.setattr(sender_module, "ensure_topic", lambda *_: (1_000_000, "id"))
    monkeypatch.setattr(sender_module, "_producer", lambda *_: producer)
    manifest = new_manifest(tmp_path, "load", "here", "events")
    with pytest.raises(MillraceError, match=rf"went away \({reason}\)") as reported:
        deliver(numbered(1000), manifest, "localhost:9", ShutdownSignal(), ack_timeout=timedelta(seconds=1))
    assert (manifest.records, manifest.unconfirmed) == (15, producer.sent - 15)
    assert f"15 records are confirmed, {manifest.unconfirmed} are not" in reported.value.problem
    assert 1 <= manifest.unconfirmed <= 20
    assert told_by(manifest.path)["status"] == "incomplete"


@pytest.mark.long
def test_killed_broker_ends_load_with_exact_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(sender_module, "_PENDING_RECORDS", 2000)
    home, port = tmp_path / "broker", free_port()
    home.mkdir()

    def source():
        for number, record in enumerate(numbered(1_000_000)):
            if number == 20_000:
                process_registry.running(home, "broker").send_signal(signal.SIGKILL)
            yield record

    with running_broker(home, port) as bootstrap:
        settings = settings_for(bootstrap, tmp_path)
        manifest = new_manifest(settings.home, "load", "here", settings.events_topic)
        with pytest.raises(MillraceError, match="went away") as reported:
            deliver(source(), manifest, bootstrap, ShutdownSignal(), ack_timeout=timedelta(seconds=3))
    assert (
        f"{manifest.records:,} records are confirmed, {manifest.unconfirmed:,} are not"
        in reported.value.problem
    )
    assert manifest.records >= 15_000
    assert told_by(manifest.path)["status"] == "incomplete"
    with running_broker(home, port):
        arrived = in_topic(settings)
    assert manifest.records <= len(arrived) <= manifest.records + manifest.unconfirmed
    assert len({r.value for r in arrived}) == len(arrived)


def start_millrace(settings: Settings, *arguments: str, **more) -> subprocess.Popen:
    environment = os.environ | {
        "MILLRACE_HOME": str(settings.home),
        "MILLRACE_KAFKA_BOOTSTRAP": settings.bootstrap,
        "MILLRACE_EVENTS_TOPIC": settings.events_topic,
        "MILLRACE_EXCHANGE_RATES_TOPIC": settings.exchange_rates_topic,
        "MILLRACE_CAMPAIGN_COSTS_TOPIC": settings.campaign_costs_topic,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-m", "millrace", *arguments]
    return subprocess.Popen(
        command, env=environment, text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **more
    )


def count_confirmed(settings: Settings) -> int:
    return sum(told_by(path)["records"] for path in (settings.home / "manifests").glob("*-produce-*.json"))


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_signal_ends_live_traffic_with_all_records_confirmed(settings, number):
    with start_millrace(settings, "produce", "--rate", "200") as process:
        try:
            eventually(lambda: count_confirmed(settings) > 0, seconds=40)
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")
    (path,) = (settings.home / "manifests").glob("*-produce-*.json")
    reported = told_by(path)
    assert (reported["status"], reported["records"]) == ("complete", len(in_topic(settings)))
    assert f"{reported['records']:,} records sent, 0 unconfirmed" in out


def test_signal_ends_load_from_silent_pipe(settings):
    with start_millrace(settings, "load", "-", "--format", "segment", stdin=subprocess.PIPE) as process:
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
