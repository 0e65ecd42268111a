"""Releasing: held rows go through to gold as they are, by somebody's name and reason."""

from dataclasses import replace

from gold.rebuild_definitions import DEFINITIONS
from lakehouse.contracts.gold import LOCK
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.quality.gate_log import RELEASED, REPLAYED, GateEvent, GateLog
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import now
from lakehouse.run.rebuild import rebuild_job


def release_job(who: str, why: str) -> Job:
    """What lets held rows through.

    Args:
        who: somebody's name.
        why: the reason.
    """
    return Job("release", lambda run: _release(run, who, why))


def _release(run: JobContext, who: str, why: str) -> None:
    gates = GateLog(run.lake)
    with run.slot, run.lake.exclusive(LOCK):
        held = replace(_held(gates), who=who, why=why, at=now())
        owing = gates.rebuild_pending()
        gates.write(replace(held, state=REPLAYED if owing else RELEASED))
    if owing:  # a replay has made silver anew, and what it looked at again did not pass
        rebuild_job(DEFINITIONS, list(DEFINITIONS)).body(run)
        if run.stop.is_set():
            return
        gates.write(replace(held, state=RELEASED, at=now()))
    run.log(f"rows up to {held.upto:%Y-%m-%d %H:%M:%S} go through, by {who}: {why}")


def _held(gates: GateLog) -> GateEvent:
    last = gates.last()
    if last is None or not last.holds:
        raise MillraceError("nothing is held: the gate is open", "See `millrace quality`")
    if last.state == REPLAYED:
        raise MillraceError("a replay was broken off, or is under way", "Run `millrace replay` again first")
    return last
