"""Release: publish held rows as they are, with a person's name and reason."""

from dataclasses import replace

from gold.rebuild_definitions import DEFINITIONS as GOLD
from lakehouse.contracts.gold import LOCK
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.quality.gate_log import RELEASED, REPLAYED, GateEvent, GateLog
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import now
from lakehouse.run.rebuild import rebuild_job


def release_job(who: str, why: str) -> Job:
    """The job that opens the gate for held rows.

    Args:
        who: name of the person, for ops.gates.
        why: the reason, for ops.gates.
    """
    return Job("release", lambda run: _release(run, who, why))


def _release(run: JobContext, who: str, why: str) -> None:
    gates = GateLog(run.lake)
    with run.slot, run.lake.exclusive(LOCK):
        held = replace(_held(gates), who=who, why=why, at=now())
        is_pending = gates.rebuild_pending()
        gates.write(replace(held, state=REPLAYED if is_pending else RELEASED))
    if is_pending:  # a replay has rebuilt silver, but the held rows still failed
        rebuild_job(GOLD, list(GOLD)).body(run)
        if run.stop.is_set():
            return
        gates.write(replace(held, state=RELEASED, at=now()))
    run.log(f"rows up to {held.upto:%Y-%m-%d %H:%M:%S} are released by {who}: {why}")


def _held(gates: GateLog) -> GateEvent:
    last = gates.last()
    if last is None or not last.holds:
        raise MillraceError("nothing is held: the gate is open", "See `millrace quality`")
    if last.state == REPLAYED:
        raise MillraceError("a replay was interrupted or is running", "Run `millrace replay` again first")
    return last
