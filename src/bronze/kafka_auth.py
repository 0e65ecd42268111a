"""Kafka login for Spark's source and for the Python client, from the same settings."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bronze.broker_login import login_settings
from lakehouse.errors import MillraceError
from lakehouse.settings import BrokerSecurity, Settings
from lakehouse.workspace_secrets import read_secret

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
Login = Mapping[str, Any]
"""Arguments of the Python client's classes for its connection to Kafka."""

PLAINTEXT: Login = {"security_protocol": "PLAINTEXT"}

_USER, _PASSWORD = "username", "password"
"""Keys of the secret scope."""


def client_options(settings: Settings) -> Login:
    """Keyword arguments for the classes of kafka-python.

    Raises:
        MillraceError: if user or password is missing, or the local broker has no login yet.
    """
    settings = _in_force(settings)
    options: dict[str, Any] = {"security_protocol": settings.kafka_security_protocol}
    if settings.kafka_ca_file:
        options["ssl_cafile"] = str(settings.kafka_ca_file)
    if settings.kafka_certificate_file:
        pem = str(settings.kafka_certificate_file)
        options |= {"ssl_certfile": pem, "ssl_keyfile": pem}
    if settings.kafka_sasl_mechanism:
        user, password = _credentials(settings)
        options |= {
            "sasl_mechanism": settings.kafka_sasl_mechanism,
            "sasl_plain_username": user,
            "sasl_plain_password": password,
        }
    return options


def source_options(settings: Settings) -> dict[str, str]:
    """Options of Spark's source.

    Raises:
        MillraceError: if user or password is missing, or the local broker has no login yet.
    """
    settings = _in_force(settings)
    options = {"kafka.security.protocol": settings.kafka_security_protocol}
    if settings.kafka_ca_file:
        options["kafka.ssl.truststore.type"] = "PEM"
        options["kafka.ssl.truststore.location"] = str(settings.kafka_ca_file)
    if settings.kafka_certificate_file:
        options["kafka.ssl.keystore.type"] = "PEM"
        options["kafka.ssl.keystore.location"] = str(settings.kafka_certificate_file)
    if settings.kafka_sasl_mechanism:
        # A workspace's runtime has its own copy of the client, under another name.
        shaded = "kafkashaded." if os.environ.get("DATABRICKS_RUNTIME_VERSION") else ""
        module = f"{shaded}{_MODULES[settings.kafka_sasl_mechanism]}"
        user, password = (_quoted(said) for said in _credentials(settings))
        options["kafka.sasl.mechanism"] = settings.kafka_sasl_mechanism
        options["kafka.sasl.jaas.config"] = f"{module} required username={user} password={password};"
    return options


def broker_login(home: Path, security: BrokerSecurity) -> Login:
    """`client_options` for the local broker of a home.

    Raises:
        MillraceError: if it has no login yet.
    """
    return client_options(Settings.model_construct(home=home, broker_security=security))


def _in_force(settings: Settings) -> Settings:
    """The settings, with the login of the local broker if that is the Kafka in use."""
    if settings.kafka_bootstrap:
        return settings
    return settings.model_copy(update=login_settings(settings.home, settings.broker_security))


def _credentials(settings: Settings) -> tuple[str, str]:
    """User and password, from the settings, else from the secret scope."""
    user, password = settings.kafka_username, settings.kafka_password
    if scope := settings.kafka_secret_scope:
        user, password = user or _secret(scope, _USER), password or _secret(scope, _PASSWORD)
    if not user or not password:
        raise MillraceError(
            f"Kafka wants a login ({settings.kafka_sasl_mechanism}) and user or password is not set",
            "Set MILLRACE_KAFKA_USERNAME and MILLRACE_KAFKA_PASSWORD, or kafka_secret_scope on a workspace",
        )
    return user, password


def _secret(scope: str, key: str) -> str:
    try:
        from pyspark.dbutils import DBUtils  # type: ignore[import-not-found]  # a workspace's own
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        return read_secret(scope, key, "Set MILLRACE_KAFKA_USERNAME and MILLRACE_KAFKA_PASSWORD instead")
    return str(DBUtils(SparkSession.getActiveSession()).secrets.get(scope, key))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
