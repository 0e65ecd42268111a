"""A command's side of errands: who carries it out, and waiting for the answer."""

import json
import time
from collections.abc import Callable
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.local.launch import workspace_state
from millrace.local.process.home_lock import supervisor_pid
from millrace.local.process.state_files import read_state
from millrace.local.requests.command_queue import Errand, is_gone, place
from millrace.local.requests.engine_commands import Order
from millrace.local.services import ENGINE

_LOOK_SECONDS = 0.2


def engine_runs(settings: Settings) -> bool:
    """Whether this home has an engine that takes orders, or will have one again in a moment."""
    if supervisor_pid(settings.home) is not None and ENGINE in workspace_state(settings).get("processes", {}):
        return True
    told = read_state(settings.home / "run" / "engine.json")
    return not is_gone(told) and told.get("state") != "stopping"


def hand_over(settings: Settings, order: Order, tell: Callable[[str], None]) -> None:
    """Have the engine carry out an order, and wait until it has.

    Args:
        settings: the settings in force.
        order: what to do.
        tell: is given each line that there is to tell.

    Raises:
        MillraceError: if the order fails, or the engine dies over it or is stopped before.
    """
    errand = place(settings.home, order)
    try:
        _follow(settings, errand, tell)
    finally:
        errand.withdraw()


def _follow(settings: Settings, errand: Errand, tell: Callable[[str], None]) -> None:
    done, engine = 0, dict[str, Any]()
    while True:
        gone = is_gone(engine) if engine else not engine_runs(settings)
        answers = _answers(errand)  # read after looking: the last words of a dead engine count
        for told in answers[done:]:
            if "done" in told:
                return
            if "problem" in told:
                raise MillraceError(told["problem"], told["next_step"])
            if "line" in told:
                tell(told["line"])
            else:
                engine = told
        done = len(answers)
        if gone:
            raise MillraceError(
                "the engine ended before it was done: each table is as it was or as it shall be",
                "Order it again when `millrace status` shows the engine running",
            )
        time.sleep(_LOOK_SECONDS)


def _answers(errand: Errand) -> list[dict[str, Any]]:
    try:
        lines = errand.answer.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines[:-1]]  # what follows the last end of line isn't whole yet
