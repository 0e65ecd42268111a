"""Settings: from bundle.yml, environment variables and flags, with their defaults."""

from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from lakehouse.bundle_file import conf_folder
from lakehouse.bundle_variables import BundleVariables
from lakehouse.errors import MillraceError

BrokerSecurity = Literal["plaintext", "sasl_ssl", "mtls"]
Port = Annotated[int, Field(gt=0, lt=1 << 16)]
SaslMechanism = Annotated[
    Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None,
    BeforeValidator(lambda given: None if given == "NONE" else given),  # apps take no empty variables
]

LEAST_RETENTION = timedelta(days=1)
"""Files being written are in no version yet. Only their age distinguishes them from orphaned files."""


class Settings(BaseSettings):
    """All settings. In rising priority: variables of bundle.yml, MILLRACE_* of the environment, flags."""

    model_config = SettingsConfigDict(env_prefix="MILLRACE_", env_parse_none_str="", extra="ignore")

    target: str | None = Field(None, description="target of bundle.yml whose values apply; unset, local")
    home: Path = Field(
        Path(".millrace"), description="folder of all local state; a relative path counts from where you are"
    )
    catalog: str | None = Field(None, description="catalog of the tables; unset, they are in the home")
    kafka_bootstrap: str | None = Field(
        None, description="an existing Kafka, as host:port; unset, a local broker is used"
    )
    kafka_security_protocol: str = Field(
        "PLAINTEXT", description="Kafka's protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"
    )
    kafka_sasl_mechanism: SaslMechanism = Field(
        None, description="login to Kafka: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; NONE or unset, none"
    )
    kafka_username: str | None = Field(None, description="user of Kafka, or API key")
    kafka_password: str | None = Field(None, repr=False, description="password of that user, or API secret")
    kafka_secret_scope: str | None = Field(
        None, description="secret scope of a workspace with the keys username and password for Kafka"
    )
    kafka_ca_file: Path | None = Field(
        None, description="PEM file of the certificates that sign Kafka's; unset, the system's"
    )
    kafka_certificate_file: Path | None = Field(
        None, description="PEM file of the client's certificate and key, where Kafka wants one; unset, none"
    )
    role: str | None = Field(
        None,
        description="role of conf/access.yml that `sql`, `watch`, `costs`, `orders` and pages without a "
        "login read as; unset, everything is shown",
    )
    key_secret_scope: str | None = Field(
        None,
        description="secret scope of a workspace with the key mask.key of masked values; unset, it is a "
        "file of the home",
    )
    broker_port: Port = Field(9092, description="port of the local broker on 127.0.0.1")
    broker_security: BrokerSecurity = Field(
        "plaintext",
        description="how clients reach the local broker: plaintext, sasl_ssl (TLS and a password) or "
        "mtls (TLS and a client's certificate)",
    )
    dashboard_port: Port = Field(8501, description="port of the dashboard")
    dashboard_address: str = Field(
        "127.0.0.1", description="address that the dashboard listens on; any other needs a login"
    )
    dashboard_without_login: bool = Field(
        False, description="whether the dashboard may listen on other addresses without a login"
    )
    collector_port: Port | None = Field(
        None, description="port of the collector on 127.0.0.1, which `millrace up` then runs; unset, none"
    )
    collector_capacity: float | None = Field(
        None,
        gt=0,
        description="events per second beyond which unprotected ones are refused or shed; unset, no limit",
    )
    collector_log_bytes: int = Field(
        2 << 30, gt=0, description="bytes of events that may wait for Kafka in a collector's log"
    )
    api_port: Port | None = Field(
        None, description="port of the streaming API on 127.0.0.1, which `millrace up` runs; unset, none"
    )
    trust_local: bool = Field(
        False,
        description="whether programs on this machine may send events while no source is declared, and "
        "read by the streaming API without a token; leave it off behind a proxy",
    )
    webhook_hosts: str | None = Field(
        None, description="hosts, separated by commas, that webhooks may go to; unset, this machine alone"
    )
    events_topic: str = Field("events", description="topic of behavioural events")
    exchange_rates_topic: str = Field("exchange_rates", description="topic of exchange rates")
    campaign_costs_topic: str = Field("campaign_costs", description="topic of campaign costs")
    shop_changes_topic: str = Field("shop_changes", description="topic of changes of the shop's database")
    reporting_currency: str = Field(
        "EUR", pattern="^[A-Za-z]{3}$", description="currency of reports (ISO 4217)"
    )
    business_time_zone: str = Field("UTC", description="time zone of days and months (IANA)")
    watermark_delay: timedelta = Field(
        timedelta(minutes=10),
        ge=timedelta(0),
        description="how far the watermark is behind the latest event time (ISO 8601)",
    )
    trigger_interval: timedelta = Field(
        timedelta(seconds=5), gt=timedelta(0), description="pause between micro-batches of a continuous job"
    )
    repair_interval: timedelta = Field(
        timedelta(seconds=30),
        gt=timedelta(0),
        description="time between micro-batches of repair, which handles late events; up to four times as "
        "long if it takes more than a tenth of the time",
    )
    summary_interval: timedelta = Field(
        timedelta(seconds=30),
        gt=timedelta(0),
        description="time between updates of tables by window, day and person; under load, four times "
        "the duration of the last update if that is longer, at most five minutes",
    )
    heartbeat_interval: timedelta | None = Field(
        None, gt=timedelta(0), description="time without records until a heartbeat is written; unset, never"
    )
    mlflow_tracking_uri: str | None = Field(
        None, description="MLflow tracking server, as databricks; unset, a database in the home"
    )
    mlflow_experiment: str = Field("attribution-model", description="MLflow experiment of attribution-model")
    mlflow_quality_experiment: str = Field("quality", description="MLflow experiment of the job quality")
    mlflow_model: str = Field("attribution-model", description="name of the models registered in MLflow")
    alert_webhook: str | None = Field(
        None,
        description="URL that gets alerts as JSON by POST: gold is held, or an expectation newly warns",
    )
    alert_secret: SecretStr | None = Field(
        None, description="key that signs alerts; read from the environment only, never from bundle.yml"
    )
    max_batch_rows: int = Field(
        300_000, gt=0, description="most rows of a micro-batch, approximately; of continuous ingest a sixth"
    )
    shuffle_partitions: int | None = Field(
        None,
        gt=0,
        description="partitions of a shuffle; unset, by rows and cores, see decisions 0047 and 0077",
    )
    vacuum_retention: timedelta = Field(
        timedelta(days=7),
        ge=LEAST_RETENTION,
        description="how long maintenance keeps removed files (ISO 8601); one day at least",
    )
    predictive_optimization: Literal["ENABLE", "DISABLE", "INHERIT"] = Field(
        "INHERIT", description="predictive optimization of schemas, set by maintenance; INHERIT sets nothing"
    )
    feed_retention: timedelta = Field(
        timedelta(days=2),
        ge=LEAST_RETENTION,
        description="how long changes of tables of silver and gold can be read (ISO 8601); one day at least",
    )
    privacy_deadline: timedelta = Field(
        timedelta(days=30), gt=timedelta(0), description="how long a person's request may take (ISO 8601)"
    )
    record_reads: bool = Field(
        False, description="whether ops.reads records who read which version of a table"
    )
    spark_master: str | None = Field(None, description="a cluster, as spark://host:7077; unset, this machine")
    spark_memory: str = Field("2g", description="memory of the Spark driver, and of each executor")
    spark_java_options: str | None = Field(
        None, description="Java options of the local Spark application; unset, those of decision 0002"
    )

    @field_validator("business_time_zone")
    @classmethod
    def _is_a_time_zone(cls, name: str) -> str:
        try:
            return ZoneInfo(name).key
        except (ZoneInfoNotFoundError, OSError) as error:
            raise ValueError(f"{name!r} is no time zone, as Europe/Berlin is one") from error

    @cached_property
    def bootstrap(self) -> str:
        """The Kafka in use, as host:port."""
        return self.kafka_bootstrap or f"127.0.0.1:{self.broker_port}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that bronze ingests."""
        return (self.events_topic, *self.side_topics, self.shop_changes_topic)

    @property
    def side_topics(self) -> tuple[str, str]:
        """The topics of exchange rates, and of campaign costs, which refine reads too."""
        return (self.exchange_rates_topic, self.campaign_costs_topic)

    @property
    def warehouse(self) -> Path:
        """Folder of the tables."""
        return self.home / "warehouse"

    @property
    def quality(self) -> Path:
        """Folder of the expectation reports."""
        return self.home / "quality"

    @property
    def conf(self) -> Path:
        """The rules as data."""
        return conf_folder()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags over environment over variables of the bundle."""
        return init_settings, env_settings, BundleVariables(settings_cls)

    def model_post_init(self, _: Any) -> None:
        """Make the home absolute, so that child processes agree on it."""
        self.home = self.home.expanduser().resolve()


def load_settings(**flags: Any) -> Settings:
    """The settings in force.

    Args:
        flags: values given on the command line; None means not given.

    Raises:
        MillraceError: if a value does not parse.
    """
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValueError as error:
        first = str(error).splitlines()
        raise MillraceError(
            f"a setting is not valid: {' '.join(line.strip() for line in first[1:3])}",
            "Correct it in bundle.yml, in the MILLRACE_* variable or on the command line",
        ) from error
