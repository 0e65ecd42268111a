"""Configuration files of the local Kafka."""

import os
from pathlib import Path

from bronze.broker_login import USER, LoginFiles
from lakehouse.settings import BrokerSecurity

_SERVER = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=BROKER://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=BROKER://127.0.0.1:{port}
listener.security.protocol.map=BROKER:{protocol},CONTROLLER:PLAINTEXT
inter.broker.listener.name=BROKER
controller.listener.names=CONTROLLER
log.dirs={data}

# One node keeps the only copy of everything.
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
offsets.topic.num.partitions=4
transaction.state.log.num.partitions=4
share.coordinator.state.topic.num.partitions=4

# A mistyped topic is an error, not a new topic: clients create theirs.
auto.create.topics.enable=false
num.partitions=2
# What was sent stays, however old its timestamps.
log.retention.ms=-1
log.retention.bytes=-1

# For a laptop: few threads, small buffers, no waiting for members that never come.
# After a kill, the controller half waits this long for the broker half of the process that is gone.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=4
log.cleaner.dedupe.buffer.size=16777216
"""

_TLS = """
ssl.keystore.type=PEM
ssl.keystore.location={broker}
ssl.truststore.type=PEM
ssl.truststore.location={ca}
ssl.client.auth={client_auth}
"""

_SASL = """
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.broker.plain.sasl.jaas.config=\\
  org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="{user}" password="{password}" user_{user}="{password}";
"""

_PROTOCOLS: dict[BrokerSecurity, str] = {"plaintext": "PLAINTEXT", "sasl_ssl": "SASL_SSL", "mtls": "SSL"}

_LOGGING = """\
Configuration:
  status: "error"
  Appenders:
    RollingFile:
      name: "file"
      fileName: "{log}"
      filePattern: "{log}.%i"
      PatternLayout: {{ pattern: "%d{{yyyy-MM-dd HH:mm:ss.SSS}} %-5p %c{{1}}: %m%n" }}
      Policies: {{ SizeBasedTriggeringPolicy: {{ size: "10 MB" }} }}
      DefaultRolloverStrategy: {{ max: "2" }}
  Loggers:
    Root: {{ level: "warn", AppenderRef: {{ ref: "file" }} }}
    Logger:
      - {{ name: "kafka.server.KafkaRaftServer", level: "info" }}
      - {{ name: "kafka.server.BrokerServer", level: "info" }}
"""


def write_server_properties(
    file: Path, port: int, controller_port: int, data: Path, security: BrokerSecurity = "plaintext"
) -> None:
    """Write the server properties: both listeners on 127.0.0.1, unlimited retention.

    Only the owner may read the file, since it may contain the password.

    Args:
        file: path of the file.
        port: port for clients.
        controller_port: port for the broker's own KRaft controller.
        data: folder of the log.
        security: authentication of clients; its files are in the folder of the properties.
    """
    values = {"port": port, "controller_port": controller_port, "data": _escaped(data)}
    text = _SERVER.format(**values, protocol=_PROTOCOLS[security])
    if security != "plaintext":
        text += _login(LoginFiles(file.parent.parent), security)
    with open(file, "w", encoding="utf-8", opener=_private) as out:
        file.chmod(0o600)
        out.write(text)


def write_logging(file: Path, log: Path) -> None:
    """Write the log4j configuration: warnings, start and stop; files of 10 MB, two kept."""
    file.write_text(_LOGGING.format(log=log), encoding="utf-8")


def _login(files: LoginFiles, security: BrokerSecurity) -> str:
    client_auth = "required" if security == "mtls" else "none"
    text = _TLS.format(broker=_escaped(files.broker), ca=_escaped(files.ca), client_auth=client_auth)
    if security == "sasl_ssl":
        text += _SASL.format(user=USER, password=files.password.read_text(encoding="utf-8"))
    return text


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, mode=0o600)


def _escaped(path: Path) -> str:
    """A path in the syntax of Java properties."""
    return str(path).replace("\\", "\\\\")
