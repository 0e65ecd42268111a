"""Services of a workspace: start, port checks and readiness."""

import http.client
import socket
from datetime import timedelta

import pytest

from kit.polling import eventually
from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.local.plan import Plan
from millrace.local.process.child_process import Child
from millrace.local.process.ports import free_port
from millrace.local.process.state_files import write_state
from millrace.local.services import dashboard_service, engine_service, environment


def test_child_process_inherits_settings_including_flags(home, monkeypatch):
    settings = load_settings(home=home, broker_port=19092, watermark_delay=timedelta(minutes=3))
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)
    assert load_settings() == settings


def test_dashboard_service_becomes_ready(home):
    service = dashboard_service(load_settings(home=home, dashboard_port=free_port()))
    service.check()
    child = Child(service.prepare())
    eventually(lambda: service.is_ready(child), seconds=30)
    assert child.stop()
    assert not service.is_ready(child)


def test_collector_with_port_is_a_service_and_accepts_events_without_kafka(home):
    port = free_port()
    assert "collector" not in {service.name for service in Plan().services(load_settings(home=home))}
    settings = load_settings(home=home, collector_port=port, broker_port=free_port(), trust_local=True)
    service = next(each for each in Plan().services(settings) if each.name == "collector")
    service.check()
    child = Child(service.prepare())
    eventually(lambda: service.is_ready(child), seconds=30)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/v1/track", b'{"userId": "u", "event": "A"}')
    assert connection.getresponse().status == 200
    connection.close()
    with pytest.raises(MillraceError, match="MILLRACE_COLLECTOR_PORT"):
        service.check()
    child.stop()
    assert not service.is_ready(child)


def test_streaming_api_with_port_is_a_service_and_serves_live_page(home):
    port = free_port()
    assert "api" not in {service.name for service in Plan().services(load_settings(home=home))}
    settings = load_settings(home=home, api_port=port, broker_port=free_port(), trust_local=True)
    assert Plan().environment(settings)["api"] == f"http://127.0.0.1:{port}"
    service = next(each for each in Plan().services(settings) if each.name == "api")
    service.check()
    child = Child(service.prepare())
    eventually(lambda: service.is_ready(child), seconds=30)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/live")
    assert b"<title>Live" in connection.getresponse().read()
    connection.close()
    with pytest.raises(MillraceError, match="MILLRACE_API_PORT"):
        service.check()
    child.stop()
    assert not service.is_ready(child)


def test_taken_dashboard_port_is_reported(home):
    with socket.create_server(("127.0.0.1", 0)) as other:
        service = dashboard_service(load_settings(home=home, dashboard_port=other.getsockname()[1]))
        with pytest.raises(MillraceError, match=r"for the dashboard, is taken by .*MILLRACE_DASHBOARD_PORT="):
            service.check()


def test_engine_is_ready_only_by_state_of_its_own_process(home):
    class Running:
        pid = 42

    is_ready = engine_service(load_settings(home=home), ()).is_ready
    assert not is_ready(Running())
    for pid, state, ready in ((41, "running", False), (42, "starting", False), (42, "running", True)):
        write_state(home / "run" / "engine.json", {"pid": pid, "state": state})
        assert is_ready(Running()) is ready
