"""The demo's history is sent once; broken off, it is sent again as it was."""

from datetime import datetime

import pytest

from lakehouse.settings import load_settings
from millrace.clients.manifest import new_manifest
from millrace.clients.produce_sample import Wanted
from millrace.local.demo_traffic import history_is_sent, history_service
from millrace.local.plan import Plan
from millrace.local.process.state_files import read_state


@pytest.fixture
def settings(home):
    return load_settings(home=home)


def leave_manifest(settings, records, whole):
    start = datetime.fromisoformat(read_state(settings.home / "run" / "demo.json")["start"])
    source = Wanted(None, records, start=start).describe()
    manifest = new_manifest(settings.home, "produce", source, settings.events_topic)
    manifest.records = records
    manifest.close(whole)


def test_the_same_history_is_asked_for_until_it_is_sent(settings):
    first = history_service(settings, 5000, ()).prepare()
    assert not history_is_sent(settings.home)
    again = history_service(settings, 9000, ()).prepare()
    assert again.command == first.command
    assert "5000" in first.command
    leave_manifest(settings, 4000, whole=False)
    assert not history_is_sent(settings.home)
    leave_manifest(settings, 5000, whole=True)
    assert history_is_sent(settings.home)


def test_a_plan_without_history_or_rate_has_no_traffic(settings):
    assert [service.name for service in Plan().services(settings)] == ["broker", "engine", "dashboard"]
    names = [service.name for service in Plan(history=10, rate=5).services(settings)]
    assert names == ["broker", "engine", "dashboard", "history", "traffic"]


def test_a_named_kafka_takes_the_place_of_the_broker(home):
    settings = load_settings(home=home, kafka_bootstrap="kafka.example:9092")
    services = Plan(rate=5).services(settings)
    assert [service.name for service in services] == ["engine", "dashboard", "traffic"]
    assert all("broker" not in service.needs for service in services)
    assert services[0].prepare().env["MILLRACE_KAFKA_BOOTSTRAP"] == "kafka.example:9092"
