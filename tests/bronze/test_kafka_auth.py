"""The same login for Spark's source and for the plain client."""

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


def test_without_a_login_only_the_protocol_is_said(tmp_path: Path) -> None:
    assert client_options(settings(tmp_path)) == {"security_protocol": "PLAINTEXT"}
    assert source_options(settings(tmp_path)) == {"kafka.security.protocol": "PLAINTEXT"}


def test_the_client_knows_what_it_is_given(tmp_path: Path) -> None:
    given = client_options(login(tmp_path, kafka_ca_file="ca.pem"))
    assert given.keys() <= KafkaConsumer.DEFAULT_CONFIG.keys()
    assert given["sasl_plain_password"] == 'a "b" \\c'


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", "PlainLoginModule"), ("SCRAM-SHA-512", "ScramLoginModule")]
)
def test_the_source_logs_in_by_the_module_of_the_mechanism(
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
def test_half_a_login_is_refused(tmp_path: Path, lacking: str) -> None:
    with pytest.raises(MillraceError, match="user or password is not set"):
        client_options(login(tmp_path).model_copy(update={lacking: None}))


def test_a_secret_scope_is_of_a_workspace(tmp_path: Path) -> None:
    reported = login(tmp_path, kafka_secret_scope="kafka").model_copy(update={"kafka_password": None})
    with pytest.raises(MillraceError, match="this is no workspace"):
        source_options(reported)
    assert "kafka_password" not in repr(reported)
