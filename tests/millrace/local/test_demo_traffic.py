"""The demo's history is sent once; after an interruption, it is sent again unchanged."""

from datetime import datetime, timedelta, timezone

import pytest

from lakehouse.settings import load_settings
from millrace.clients.manifest import new_manifest
from millrace.clients.produce_sample import Wanted
from millrace.local.demo_traffic import history_is_sent, history_service
from millrace.local.plan import Plan
from millrace.local.process.state_files import read_state, write_state


@pytest.fixture
def settings(home):
    return load_settings(home=home)


def write_manifest(settings, records, whole):
    known = read_state(settings.home / "run" / "demo.json")
    start, until = (datetime.fromisoformat(known[name]) for name in ("start", "until"))
    source = Wanted(known["rate"], start=start, until=until).describe()
    manifest = new_manifest(settings.home, "produce", source, settings.events_topic)
    manifest.records = records
    manifest.close(whole)


def test_same_history_is_requested_until_it_is_sent(settings):
    first = history_service(settings, 24, 2.0, ()).prepare()
    assert not history_is_sent(settings.home)
    again = history_service(settings, 48, 9.0, ()).prepare()
    assert again.command == first.command
    assert "2.0" in first.command
    write_manifest(settings, 4000, whole=False)
    assert not history_is_sent(settings.home)
    write_manifest(settings, 5000, whole=True)
    assert history_is_sent(settings.home)


def test_history_spans_given_hours_until_now(settings):
    history_service(settings, 6, 2.0, ()).prepare()
    known = read_state(settings.home / "run" / "demo.json")
    start, until = (
        datetime.fromisoformat(known[name]).replace(tzinfo=timezone.utc) for name in ("start", "until")
    )
    assert until - start == timedelta(hours=6)
    assert abs(datetime.now(timezone.utc) - until) < timedelta(minutes=1)


def test_demo_state_of_earlier_version_counts_as_sent(settings):
    write_state(settings.home / "run" / "demo.json", {"events": 10, "seed": 7, "start": "2026-01-01"})
    assert history_is_sent(settings.home)


def test_plan_without_history_or_rate_has_no_traffic_services(settings):
    assert [service.name for service in Plan().services(settings)] == ["dashboard", "broker", "engine"]
    names = [service.name for service in Plan(history=10, rate=5).services(settings)]
    assert names == ["dashboard", "broker", "engine", "history", "traffic"]


def test_external_kafka_replaces_local_broker(home):
    settings = load_settings(home=home, kafka_bootstrap="kafka.example:9092")
    services = Plan(rate=5).services(settings)
    assert [service.name for service in services] == ["dashboard", "engine", "traffic"]
    assert all("broker" not in service.needs for service in services)
    assert services[1].prepare().env["MILLRACE_KAFKA_BOOTSTRAP"] == "kafka.example:9092"
