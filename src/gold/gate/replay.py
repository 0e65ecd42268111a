"""Replaying: silver made anew by the rules of now, held rows looked at again, and gold brought after."""

from dataclasses import replace

from pyspark.sql import functions as F

from gold.gate.gate_checks import GateChecks
from gold.rebuild_definitions import DEFINITIONS
from lakehouse.contracts import TABLES
from lakehouse.contracts.gold import LOCK
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.quality.gate_log import CLOSED, OPENED, REPLAYED, GateEvent, GateLog
from lakehouse.quality.results import rows_of, write_results
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger, now
from lakehouse.run.rebuild import Definitions, rebuild_job
from lakehouse.timestamps import EPOCH


def replay_job(silver: Definitions, who: str, why: str) -> Job:
    """What runs all records of bronze again, those refused and those held among them.

    Nothing comes twice: tables are computed as a whole and swapped in. What has been published is made anew
    only if it would be another now.

    Args:
        silver: the tables of silver.
        who: somebody's name.
        why: the reason.
    """
    return Job("replay", lambda run: _replay(run, silver, who, why))


def _replay(run: JobContext, silver: Definitions, who: str, why: str) -> None:
    gates = GateLog(run.lake)
    held = gates.last()
    is_due = held is None or held.state != CLOSED or gates.rebuild_pending()
    if held and held.state == CLOSED:
        held = gates.write(replace(held, state=REPLAYED, who=who, why=why, at=now()))
    before = _digests(run, silver)
    rebuild_job(silver, list(silver)).body(run)
    if run.stop.is_set():
        return
    if held and held.holds:
        _look_again(run, gates, held)
    if is_due or _digests(run, silver) != before:
        rebuild_job(DEFINITIONS, list(DEFINITIONS)).body(run)
    if held and held.holds and not run.stop.is_set():
        gates.write(replace(held, state=OPENED, at=now()))
        run.log("the gate is open: what was held has passed")


def _look_again(run: JobContext, gates: GateLog, held: GateEvent) -> None:
    """Look at held rows by themselves.

    Raises:
        MillraceError: if they are not as expected; they stay held.
    """
    with run.slot, run.lake.exclusive(LOCK):
        results = GateChecks(run).evaluate_again(held.after, held.upto, held.reasons)
        stopping = [result for result in results if result.stops]
        if stopping:
            reasons = tuple(result.expectation.id for result in stopping)
            gates.write(replace(held, state=CLOSED, reasons=reasons, at=now()))
        write_results(run.lake, rows_of("replay", held.after, held.upto, results))
    if stopping:
        raise MillraceError(
            f"still not as expected: {'; '.join(map(str, stopping))}",
            "Mend rules or code and replay again, or `millrace release`",
        )


def _digests(run: JobContext, silver: Definitions) -> dict[str, tuple[int, int]]:
    """By table that gold is made of, what its rows that have been published come to."""
    last = Ledger(run.lake).last("publish")
    published = F.col("ingested_at") <= F.lit(last.position if last else EPOCH)
    found = {}
    for name, definition in silver.items():
        table = TABLES[name]
        if definition.downstream and "ingested_at" in table.column_names:
            rows = run.lake.read(name).where(published)
            row = F.xxhash64(*table.deterministic_columns).cast("decimal(38,0)")
            counted = rows.agg(F.count("*").alias("rows"), F.sum(row).alias("digest")).collect()[0]
            found[name] = (counted.rows, int(counted.digest or 0))
    return found
