"""The local broker with a login: clients with the login can send, others are rejected."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from bronze.broker_login import LoginFiles
from bronze.kafka_auth import client_options
from intake.producers import _NAMES
from kit.broker_profiles import secured_home, settings_of, track
from kit.collecting import collector
from kit.polling import eventually
from kit.sending import in_topic
from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.clients.topic import ensure_topic
from millrace.local.kafka.broker import running_broker
from millrace.local.kafka.kafka_health import cluster_id
from millrace.local.kafka.login_files import make_login
from millrace.local.process.ports import stable_port

REFUSED = b'{"event": "refused"}'
REJECTIONS = {"_SSL", "_AUTHENTICATION", "_ALL_BROKERS_DOWN"}  # the last one: it closed the connection


def invalid_logins(given: dict[str, Any], other: Path) -> list[dict[str, Any]]:
    """Logins with a missing part, or with a part of another home."""
    of_another = {name: str(LoginFiles(other).client) for name in ("ssl_certfile", "ssl_keyfile")}
    return [
        {"security_protocol": "PLAINTEXT"},
        {"security_protocol": "SSL", "ssl_cafile": given["ssl_cafile"]},
        {**given, "ssl_cafile": str(LoginFiles(other).ca)},
        {**given, **({"sasl_plain_password": "guessed"} if "sasl_mechanism" in given else of_another)},
    ]


def assert_rejected(bootstrap: str, login: dict[str, Any]) -> None:
    """Assert that librdkafka, which the collector uses, reports an error and delivers nothing."""
    errors: list[KafkaError] = []
    delivered: list[KafkaError | None] = []
    options = {_NAMES[name]: value for name, value in login.items()}
    options |= {"bootstrap.servers": bootstrap, "error_cb": errors.append, "log_level": 0}
    producer = Producer(options)
    producer.produce("events", REFUSED, on_delivery=lambda error, _: delivered.append(error))

    def is_reported() -> bool:
        producer.poll(0.1)
        return any(error.name() in REJECTIONS for error in errors)

    eventually(is_reported, what=f"an error for {login}")
    assert not delivered
    producer.purge()


@pytest.mark.long
@pytest.mark.parametrize("security", ["sasl_ssl", "mtls"])
def test_clients_with_login_can_send_and_others_are_rejected(home: Path, security: str) -> None:
    workspace, other = secured_home(home, security), home.parent / "other"
    settings = settings_of(workspace)
    make_login(other, settings.broker_security)
    with running_broker(home, settings.broker_port, settings.broker_security) as bootstrap:
        login = dict(client_options(settings))
        ensure_topic(bootstrap, "events", login)
        for invalid in invalid_logins(login, other):
            assert_rejected(bootstrap, invalid)
        assert cluster_id(bootstrap) is None
        workspace.must("produce", "--events", "20")
        with collector(workspace, port := stable_port()) as node:
            assert track(port) == 200
            node.wait_until_forwarded()
        sent = [record.value for record in in_topic(settings)]
        assert b"tracked" in b"".join(sent)
        assert REFUSED not in sent
        identity = cluster_id(bootstrap, login=login)
    with running_broker(home, settings.broker_port, settings.broker_security) as bootstrap:
        assert cluster_id(bootstrap, login=login) == identity
        assert sorted(record.value for record in in_topic(settings)) == sorted(sent)


def test_login_files_are_readable_by_owner_only(home: Path) -> None:
    make_login(home, "sasl_ssl")
    files = LoginFiles(home)
    before = {file: file.read_bytes() for file in (*files.folder.iterdir(), files.password)}
    assert sorted(file.name for file in before) == ["broker.pem", "ca.pem", "client.pem", "password"]
    assert {file.stat().st_mode & 0o777 for file in before} == {0o600}
    assert files.folder.stat().st_mode & 0o777 == 0o700
    make_login(home, "mtls")
    assert before == {file: file.read_bytes() for file in before}
    assert sorted(file.name for file in (home / "kafka").iterdir()) == ["password", "tls"]


def test_login_is_used_for_local_broker_only(home: Path) -> None:
    with pytest.raises(MillraceError, match="has no login yet"):
        client_options(load_settings(home=home, broker_security="mtls"))
    make_login(home, "plaintext")
    assert not (home / "kafka").exists()
    named = load_settings(home=home, broker_security="mtls", kafka_bootstrap="kafka.example:9092")
    assert client_options(named) == {"security_protocol": "PLAINTEXT"}
