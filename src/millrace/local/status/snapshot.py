"""The current state of a workspace: processes, jobs, tables, lag."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from bronze.kafka_auth import client_options
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.local.kafka.kafka_health import cluster_id
from millrace.local.launch import workspace_state
from millrace.local.process.home_lock import supervisor_pid
from millrace.local.process.state_files import read_state
from millrace.local.services import ENGINE
from millrace.local.status.due_requests import due_requests
from millrace.local.status.table_figures import TableFigures

_UNREAD = {"unread_time": "a time", "unread_value": "an amount"}
_SQL = '`millrace sql "SELECT {0}, count(*) FROM silver.events GROUP BY ALL"`'


@dataclass
class Snapshot:
    """A workspace at one moment.

    Args:
        home: the folder of all local state.
        state: starting, running, stopping, failed or stopped.
        kafka: bootstrap address, as host:port.
        dashboard: its address, while it runs.
        collector: its address, while it runs.
        api: address of the streaming API, while it runs.
        processes: processes by name, from the supervisor's state file.
        jobs: jobs by name, from the engine's state file.
        rows: number of rows by table.
        freshness: by table, how far it is behind bronze, in seconds of ingest time; see `freshness`.
        ledger: sums of the ledger by job.
        behind: by job, the lag behind its upstream job; see `table_reader.behind`.
        stages: seconds of recent records in each stage; see `stage_times`.
        unread: number of events by column of silver.events with what could not be read.
        lag: by topic/partition, the number of records that bronze does not have yet; None if not
            requested, or if no Kafka answers.
        notes: warnings, and errors of failed reads.
    """

    home: str
    state: str
    kafka: str
    dashboard: str | None = None
    collector: str | None = None
    api: str | None = None
    processes: dict[str, dict[str, Any]] = field(default_factory=dict)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    freshness: dict[str, float] = field(default_factory=dict)
    ledger: dict[str, dict[str, Any]] = field(default_factory=dict)
    behind: dict[str, dict[str, Any]] = field(default_factory=dict)
    stages: list[dict[str, Any]] = field(default_factory=list)
    unread: dict[str, int] = field(default_factory=dict)
    lag: dict[str, int] | None = None
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @property
    def watermark(self) -> datetime | None:
        """The minimum of the jobs' watermarks (UTC); None before the first one."""
        reached = [sums["watermark"] for sums in self.ledger.values() if sums.get("watermark")]
        return min(reached, default=None)


def take_snapshot(settings: Settings, lag: bool = True, figures: TableFigures | None = None) -> Snapshot:
    """Read everything once, which takes up to a few seconds for large homes.

    Args:
        settings: the settings in force.
        lag: whether to compute the lag of bronze, which is the most expensive part.
        figures: of the tables, kept between snapshots; None: all are computed.
    """
    saved = workspace_state(settings)
    alive = supervisor_pid(settings.home) is not None
    snapshot = Snapshot(str(settings.home), _state(saved, alive), settings.bootstrap)
    if alive:
        snapshot.kafka = saved.get("kafka", settings.bootstrap)
        snapshot.dashboard = saved.get("dashboard")
        snapshot.collector = saved.get("collector")
        snapshot.api = saved.get("api")
        snapshot.processes = saved.get("processes", {})
        snapshot.jobs = _jobs(settings, snapshot.processes.get(ENGINE, {}).get("pid"))
    elif error := saved.get("error"):
        snapshot.notes.append(f"it last failed: {error['problem']}")
    _read_tables(settings, snapshot, lag, figures or TableFigures(settings))
    return snapshot


def _state(saved: dict[str, Any], alive: bool) -> str:
    if alive:
        return str(saved.get("state", "starting"))
    return "failed" if saved.get("error") else "stopped"


def _jobs(settings: Settings, pid: int | None) -> dict[str, dict[str, Any]]:
    saved = read_state(settings.home / "run" / "engine.json")
    return dict(saved.get("jobs", {})) if pid is not None and saved.get("pid") == pid else {}


def _read_tables(settings: Settings, snapshot: Snapshot, lag: bool, figures: TableFigures) -> None:
    from millrace.tables.gate_status import held_error

    snapshot.rows = _read(figures.rows, snapshot, {})
    snapshot.ledger = _read(figures.ledger_sums, snapshot, {})
    snapshot.freshness = _read(figures.freshness, snapshot, {})
    if lacking := _read(figures.without_rate, snapshot, 0):
        snapshot.notes.append(
            f"{lacking:,} amounts have no exchange rate: `millrace load FILE --format rates`"
        )
    snapshot.unread = _read(figures.unread, snapshot, {})
    for column, what in _UNREAD.items():
        if count := snapshot.unread.get(column):
            snapshot.notes.append(
                f"{count:,} events have {what} that could not be read: {_SQL.format(column)}"
            )
    if count := _read(figures.unread_refunds, snapshot, 0):
        snapshot.notes.append(
            f"{count:,} refunds have an amount that could not be read: "
            "each counts for all that is left of its order"
        )
    if lacking := _read(figures.without_value, snapshot, 0):
        snapshot.notes.append(f"{lacking:,} orders have no value")
    if due := _read(figures.tables_of_other_rules, snapshot, []):
        snapshot.notes.append(f"rows by other rules than those of conf/: `millrace rebuild {' '.join(due)}`")
    if _read(figures.is_held, snapshot, False):
        snapshot.notes.append(held_error(settings).problem)
    snapshot.notes += _read(lambda: due_requests(settings), snapshot, [])
    snapshot.behind = _read(figures.behind, snapshot, {})
    snapshot.stages = _read(figures.stage_times, snapshot, [])
    if lag and _read(lambda: _answers(settings), snapshot, False):
        _read_topics(settings, snapshot)


def _read_topics(settings: Settings, snapshot: Snapshot) -> None:
    from millrace.tables.topic_state import read_topics

    topics = _read(lambda: read_topics(settings), snapshot, None)
    if topics is not None:
        snapshot.lag = topics.lag
        snapshot.notes += [f"{each.problem}: {each.next_step}" for each in topics.troubles]


def _answers(settings: Settings) -> bool:
    return cluster_id(settings.bootstrap, 1.0, client_options(settings)) is not None


def _read(figures: Callable[[], Any], snapshot: Snapshot, otherwise: Any) -> Any:
    try:
        return figures()
    except MillraceError as error:
        snapshot.notes.append(error.problem)
        return otherwise
