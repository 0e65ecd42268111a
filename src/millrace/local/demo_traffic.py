"""Sample traffic of `millrace demo`: some history once, then live visitors."""

import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

from lakehouse.settings import Settings
from millrace.clients.produce_sample import Wanted
from millrace.local.process.child_process import Program
from millrace.local.process.state_files import read_state, write_state
from millrace.local.services import Service, environment, last_error_line
from millrace.sample_shop.traffic_stream import EVENTS_PER_DAY

HISTORY = "history"
LIVE = "traffic"


def history_service(settings: Settings, events: int, needs: tuple[str, ...]) -> Service:
    """Events of the hours before the first demo, sent once."""
    wanted = _wanted_history(settings.home, events)
    arguments = ["--events", str(wanted.events), "--seed", str(wanted.seed)]
    if wanted.start:
        arguments += ["--start", wanted.start.isoformat()]
    program = _produce(HISTORY, settings, *arguments)
    return Service(
        HISTORY,
        prepare=lambda: program,
        is_ready=lambda _: False,  # it is ready when it is done
        last_error_line=lambda: last_error_line(program),
        needs=needs,
        ready_within=timedelta(hours=6),
        once=True,
        extra=True,
    )


def live_service(settings: Settings, rate: float, needs: tuple[str, ...]) -> Service:
    """Live visitors, at so many events per second."""
    program = _produce(LIVE, settings, "--rate", f"{rate:g}")
    return Service(
        LIVE,
        prepare=lambda: program,
        is_ready=lambda _: True,
        last_error_line=lambda: last_error_line(program),
        needs=needs,
        extra=True,
    )


def history_is_sent(home: Path) -> bool:
    """Whether an earlier demo has sent its whole history."""
    known = read_state(_state(home))
    return bool(known) and was_sent(home, Wanted(None, known["events"], known["seed"], _start(known)))


def was_sent(home: Path, wanted: Wanted) -> bool:
    """Whether a manifest shows that this traffic was sent completely."""
    states = (read_state(file) for file in (home / "manifests").glob("*.json"))
    return any(
        manifest.get("status") == "complete"
        and manifest.get("source") == wanted.describe()
        and manifest.get("records") == wanted.events
        for manifest in states
    )


def _wanted_history(home: Path, events: int) -> Wanted:
    """Parameters of the first demo's history: after an interruption the bytes have to be the same."""
    known = read_state(_state(home))
    if not known:
        # Well before now, also if it is a slow night in the simulation: live traffic is not to be late.
        hours = 2 * 24 * events / EVENTS_PER_DAY + 3
        start = datetime.now(timezone.utc).replace(minute=0, second=0, microsecond=0) - timedelta(
            hours=int(hours)
        )
        known = {"events": events, "seed": Wanted().seed, "start": start.replace(tzinfo=None).isoformat()}
        write_state(_state(home), known)
    return Wanted(None, known["events"], known["seed"], _start(known))


def _start(known: dict[str, str]) -> datetime:
    return datetime.fromisoformat(known["start"])  # without a zone, as `produce` takes it: UTC


def _produce(name: str, settings: Settings, *arguments: str) -> Program:
    command = (sys.executable, "-m", "millrace", "produce", *arguments)
    return Program(name, command, settings.home, env=environment(settings))


def _state(home: Path) -> Path:
    return home / "run" / "demo.json"
