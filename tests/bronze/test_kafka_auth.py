"""Kafka authentication options of Spark's source and of the plain client."""

from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer

from bronze.kafka_auth import client_options, source_options
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings


def settings(home: Path, **more: Any) -> Settings:
    return load_settings(home=home, **more)


def login(home: Path, **more: Any) -> Settings:
    known = {"kafka_username": "me", "kafka_password": 'a "b" \\c', "kafka_sasl_mechanism": "PLAIN"}
    return settings(home, kafka_security_protocol="SASL_SSL", **known, **more)


def test_options_without_login_contain_only_the_protocol(tmp_path: Path) -> None:
    assert client_options(settings(tmp_path)) == {"security_protocol": "PLAINTEXT"}
    assert source_options(settings(tmp_path)) == {"kafka.security.protocol": "PLAINTEXT"}


def test_client_options_are_known_to_kafka_client(tmp_path: Path) -> None:
    given = client_options(login(tmp_path, kafka_ca_file="ca.pem"))
    assert given.keys() <= KafkaConsumer.DEFAULT_CONFIG.keys()
    assert given["sasl_plain_password"] == 'a "b" \\c'


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", "PlainLoginModule"), ("SCRAM-SHA-512", "ScramLoginModule")]
)
def test_source_uses_login_module_of_sasl_mechanism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mechanism: str, module: str
) -> None:
    monkeypatch.delenv("DATABRICKS_RUNTIME_VERSION", raising=False)
    reported = login(tmp_path).model_copy(update={"kafka_sasl_mechanism": mechanism})
    jaas = source_options(reported)["kafka.sasl.jaas.config"]
    assert jaas.endswith(f'{module} required username="me" password="a \\"b\\" \\\\c";')
    assert jaas.startswith("org.apache.kafka.")
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    assert source_options(reported)["kafka.sasl.jaas.config"] == f"kafkashaded.{jaas}"


@pytest.mark.parametrize("lacking", ["kafka_username", "kafka_password"])
def test_login_without_user_or_password_is_rejected(tmp_path: Path, lacking: str) -> None:
    with pytest.raises(MillraceError, match="user or password is not set"):
        client_options(login(tmp_path).model_copy(update={lacking: None}))


def test_secret_scope_outside_databricks_is_rejected(tmp_path: Path) -> None:
    reported = login(tmp_path, kafka_secret_scope="kafka").model_copy(update={"kafka_password": None})
    with pytest.raises(MillraceError, match="this is no workspace"):
        source_options(reported)
    assert "kafka_password" not in repr(reported)
