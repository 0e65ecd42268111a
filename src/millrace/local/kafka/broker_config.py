"""Configuration files of the local Kafka."""

from pathlib import Path

_SERVER = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=BROKER://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=BROKER://127.0.0.1:{port}
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
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


def write_server_properties(file: Path, port: int, controller_port: int, data: Path) -> None:
    """Write the server properties: both listeners on 127.0.0.1, unlimited retention.

    Args:
        file: where to.
        port: for clients.
        controller_port: for the broker talking to its own controller half.
        data: the folder of the log.
    """
    values = {"port": port, "controller_port": controller_port, "data": _escaped(data)}
    file.write_text(_SERVER.format(**values), encoding="utf-8")


def write_logging(file: Path, log: Path) -> None:
    """Write the log4j configuration: warnings, start and stop; files of 10 MB, two kept."""
    file.write_text(_LOGGING.format(log=log), encoding="utf-8")


def _escaped(path: Path) -> str:
    """A path in the syntax of Java properties."""
    return str(path).replace("\\", "\\\\")
