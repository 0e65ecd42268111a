"""Replay: rebuild silver by the current rules, evaluate held rows again, and rebuild gold if it differs."""

from dataclasses import replace

from pyspark.sql import functions as F

from gold.gate.gate_checks import GateChecks
from gold.rebuild_definitions import DEFINITIONS as GOLD
from lakehouse.contracts import TABLES
from lakehouse.contracts.gold import LOCK
from lakehouse.contracts.lineage import downstream_of
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.quality.gate_log import CLOSED, OPENED, REPLAYED, GateEvent, GateLog
from lakehouse.quality.results import rows_of, write_results
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger, now
from lakehouse.run.rebuild import rebuild_job
from lakehouse.timestamps import EPOCH
from silver.rebuild_definitions import DEFINITIONS as SILVER

_RULES = frozenset(("rules_version",))


def replay_job(who: str, why: str) -> Job:
    """The job that parses all records of bronze again, rejected and held ones included.

    Tables are replaced, so nothing is duplicated. Gold is rebuilt only if published rows, or the rules that
    they follow, have changed: gold has rules of its own, such as the level of a custom dimension.

    Args:
        who: name of the person, for ops.gates.
        why: the reason, for ops.gates.
    """
    return Job("replay", lambda run: _replay(run, who, why))


def _replay(run: JobContext, who: str, why: str) -> None:
    gates = GateLog(run.lake)
    held = gates.last()
    is_due = held is None or held.state != CLOSED or gates.rebuild_pending()
    if held and held.state == CLOSED:
        held = gates.write(replace(held, state=REPLAYED, who=who, why=why, at=now()))
    before = _published_digests(run)
    rebuild_job(SILVER, list(SILVER)).body(run)
    if run.stop.is_set():
        return
    if held and held.holds:
        _evaluate_again(run, gates, held)
    if is_due or _published_digests(run) != before:
        rebuild_job(GOLD, list(GOLD)).body(run)
    if held and held.holds and not run.stop.is_set():
        gates.write(replace(held, state=OPENED, at=now()))
        run.log("the gate is open: the held rows are as expected now")


def _evaluate_again(run: JobContext, gates: GateLog, held: GateEvent) -> None:
    """Evaluate expectations on held rows only.

    Raises:
        MillraceError: if they are not met; the rows stay held.
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
            "Correct rules or code and replay again, or `millrace release`",
        )


def _published_digests(run: JobContext) -> dict[str, tuple[int, int]]:
    """Row count and digest of the published rows and their rules, by table that gold is computed from."""
    last = Ledger(run.lake).last("publish")
    published = F.col("ingested_at") <= F.lit(last.position if last else EPOCH)
    found = {}
    for name in SILVER:
        table = TABLES[name]
        if downstream_of([name]) and "ingested_at" in table.column_names:
            rows = run.lake.read(name).where(published)
            columns = [*table.deterministic_columns, *(_RULES & set(table.column_names))]
            row = F.xxhash64(*columns).cast("decimal(38,0)")
            counted = rows.agg(F.count("*").alias("rows"), F.sum(row).alias("digest")).collect()[0]
            found[name] = (counted.rows, int(counted.digest or 0))
    return found
