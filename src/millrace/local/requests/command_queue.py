"""Orders handed to a running engine: a file for each, and one beside it with the answer.

Whoever orders writes `ID.json`; the engine takes it by making `ID.answer`, whose lines are JSON objects:
first who took it, then what there is to tell, at last how it ended. Both die: an engine that is gone is
noticed by its process, an order whose file is gone has been withdrawn.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import psutil

from lakehouse.errors import MillraceError
from lakehouse.job import Watcher
from millrace.local.process.state_files import read_state, write_state
from millrace.local.requests.engine_commands import Order

_CLOCK_TOLERANCE = 2.0
"""Seconds a time of creation may be off: it is counted from the boot, whose time NTP may correct."""


@dataclass(frozen=True)
class Errand:
    """An order on its way.

    Args:
        file: where it is written.
    """

    file: Path

    @property
    def answer(self) -> Path:
        """Where the engine answers."""
        return self.file.with_suffix(".answer")

    @property
    def is_wanted(self) -> bool:
        """Whether it is still there, and so is who ordered."""
        told = read_state(self.file)
        return bool(told) and _lives(told)

    def order(self) -> Order:
        """What it is about."""
        told = read_state(self.file)
        return Order(str(told["command"]), [str(name) for name in told["names"]])

    def withdraw(self) -> None:
        """Take it back, answered or not."""
        self.file.unlink(missing_ok=True)
        self.answer.unlink(missing_ok=True)


class Answer(Watcher):
    """What the engine says of an errand, while it works on it.

    Args:
        errand: what is worked on.
        file: its answer, open.

    Raises:
        MillraceError: from `say`, if the errand has been withdrawn.
    """

    def __init__(self, errand: Errand, file: TextIO) -> None:
        self._errand = errand
        self._file = file
        self.write(who())

    def say(self, job: str, line: str) -> None:
        """Pass a line on."""
        if not self._errand.is_wanted:
            raise MillraceError(f"{job} was withdrawn", "Order it again")
        self.write({"line": f"{job}: {line}"})

    def advance(self, job: str, rows: int, seconds: float) -> None:
        """Say what a micro-batch was."""
        self.say(job, f"batch of {rows:,} rows in {seconds:.1f} s")

    def write(self, told: dict[str, Any]) -> None:
        """Add a line."""
        self._file.write(f"{json.dumps(told)}\n")
        self._file.flush()


def place(home: Path, order: Order) -> Errand:
    """Write an order for the engine to find."""
    created = psutil.Process().create_time()
    errand = Errand(folder(home) / f"{os.getpid()}-{created:.3f}.json")
    write_state(errand.file, {"command": order.command, "names": list(order.names), **who()})
    return errand


def waiting(home: Path) -> Iterator[Errand]:
    """Orders that nobody has taken; what an engine and those who ordered left behind is removed."""
    for file in sorted(folder(home).glob("*.json")):
        errand = Errand(file)
        if not errand.is_wanted:
            errand.withdraw()
        elif not errand.answer.exists():
            yield errand
    for answer in folder(home).glob("*.answer"):
        if not answer.with_suffix(".json").exists():
            answer.unlink(missing_ok=True)


def folder(home: Path) -> Path:
    """Where orders lie."""
    return home / "run" / "errands"


def who() -> dict[str, Any]:
    """This process, so that it is known again."""
    return {"pid": os.getpid(), "created": psutil.Process().create_time()}


def is_gone(process: dict[str, Any]) -> bool:
    """Whether a process that said `who` it was has ended."""
    return not _lives(process)


def _lives(told: dict[str, Any]) -> bool:
    with suppress(psutil.Error, KeyError, TypeError):
        process = psutil.Process(told["pid"])
        same = abs(process.create_time() - told["created"]) < _CLOCK_TOLERANCE
        return same and process.status() != psutil.STATUS_ZOMBIE
    return False
