"""Sample traffic of `millrace demo`: once the history of the last hours, then live visitors."""

import sys
import time
from datetime import datetime, timedelta, timezone
from itertools import chain
from pathlib import Path
from typing import Any

from lakehouse.settings import Settings
from millrace.clients.produce_sample import Wanted
from millrace.local.process.child_process import Program
from millrace.local.process.state_files import read_state, write_state
from millrace.local.services import Service, environment, last_error_line
from millrace.sample_shop.daily_rhythm import demo_weight_at

HISTORY = "history"
LIVE = "traffic"

_UNTIL = "until"


def history_service(settings: Settings, hours: float, rate: float, needs: tuple[str, ...]) -> Service:
    """A service that sends the events of the hours before the first demo once, at the rate of live traffic.

    Args:
        settings: the settings in force.
        hours: length of the history.
        rate: events per second, on average over a day.
        needs: services that must be ready first.
    """
    wanted = _wanted_history(settings.home, hours, rate)
    program = _produce(HISTORY, settings, *_arguments(wanted))
    return Service(
        HISTORY,
        prepare=lambda: program,
        is_ready=lambda _: False,  # ready when it has ended
        last_error_line=lambda: last_error_line(program),
        needs=needs,
        ready_within=timedelta(hours=6),
        once=True,
        extra=True,
    )


def live_service(settings: Settings, rate: float, needs: tuple[str, ...]) -> Service:
    """A service that sends live traffic, at `rate` (mean per second over a day) times the weight of now."""
    program = _produce(LIVE, settings, "--rate", f"{rate * demo_weight_at(time.time()):.3g}")
    return Service(
        LIVE,
        prepare=lambda: program,
        is_ready=lambda _: True,
        last_error_line=lambda: last_error_line(program),
        needs=needs,
        extra=True,
    )


def history_is_sent(home: Path) -> bool:
    """Whether an earlier demo has sent its complete history."""
    known = read_state(_state(home))
    return bool(known) and (_UNTIL not in known or was_sent(home, _wanted(known)))


def was_sent(home: Path, wanted: Wanted) -> bool:
    """Whether a manifest shows that this traffic was sent completely."""
    states = (read_state(file) for file in (home / "manifests").glob("*.json"))
    return any(
        manifest.get("status") == "complete"
        and manifest.get("source") == wanted.describe()
        and (wanted.events is None or manifest.get("records") == wanted.events)
        for manifest in states
    )


def _wanted_history(home: Path, hours: float, rate: float) -> Wanted:
    """Parameters of the first demo's history; stored, so that a resumed demo sends the same bytes."""
    known = read_state(_state(home))
    if _UNTIL not in known:
        until = datetime.now(timezone.utc).replace(microsecond=0, tzinfo=None)
        start = until - timedelta(seconds=round(hours * 3600))
        known = {
            "rate": rate,
            "seed": Wanted().seed,
            "start": start.isoformat(),  # UTC without a time zone, as `produce` expects
            _UNTIL: until.isoformat(),
        }
        write_state(_state(home), known)
    return _wanted(known)


def _wanted(known: dict[str, Any]) -> Wanted:
    start, until = (datetime.fromisoformat(known[name]) for name in ("start", _UNTIL))
    return Wanted(known["rate"], None, known["seed"], start, until)


def _arguments(wanted: Wanted) -> tuple[str, ...]:
    times = {"--start": wanted.start, "--until": wanted.until}
    given = {name: at.isoformat() for name, at in times.items() if at is not None}
    numbers = {"--rate": str(wanted.rate), "--seed": str(wanted.seed)}
    return tuple(chain.from_iterable((numbers | given).items()))


def _produce(name: str, settings: Settings, *arguments: str) -> Program:
    command = (sys.executable, "-m", "millrace", "produce", *arguments)
    return Program(name, command, settings.home, env=environment(settings))


def _state(home: Path) -> Path:
    return home / "run" / "demo.json"
