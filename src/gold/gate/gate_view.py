"""Pins silver to the rows that the gate has approved."""

from dataclasses import replace
from datetime import datetime

from gold.gate.gate_checks import GateChecks
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES
from lakehouse.contracts.lineage import first_writers
from lakehouse.contracts.silver import FOLDED
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.time_travel import PinnedTables
from lakehouse.errors import MillraceError
from lakehouse.quality.gate_log import CLOSED, GateLog, require_open
from lakehouse.quality.results import rows_of, write_results
from lakehouse.run.batch_source import Batch
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.timestamps import EPOCH

_SILVER = {name: job for name, job in first_writers("silver").items() if job != "dimensions"}
"""Every table of silver, so that none bypasses the gate, but those of the shop's database."""

_REBUILDS = ("rebuild", "replay")
"""Jobs that replace all rows of a table of silver."""

_REPAIRED = tuple(table.name for table in (*FOLDED, SEARCH_RESULTS))
"""Tables of refine that repair changes too."""


def pin_to_gate(lake: Lakehouse, upto: datetime) -> None:
    """Pin silver to the rows up to an ingest stamp, whatever other jobs write."""
    lake.pinned = PinnedTables(lake, upto, _SILVER)


def pin_batch(lake: Lakehouse, upto: datetime, batch: Batch) -> Batch:
    """Pin silver for a micro-batch of publish: all tables of repair to the batch's side input.

    In the log, repair's commit for an older stamp may come after refine's commit for rows that are not
    approved. Then publish reads neither, and the side input waits for a later micro-batch.

    Args:
        lake: the tables that publish reads.
        upto: ingest stamp of the approved rows.
        batch: the micro-batch.

    Returns:
        The micro-batch with the side input that its tables have.
    """
    approved, side_input = PinnedTables(lake, upto, _SILVER), (batch.side_input_after, batch.side_input_upto)
    if batch.has_side_input and (
        side_input[1] > upto or any(approved.hides(name, "repair", *side_input) for name in _REPAIRED)
    ):
        batch = replace(batch, side_input_upto=batch.side_input_after)
    _pin_both(lake, approved, PinnedTables(lake, min(upto, batch.side_input_upto), _SILVER))
    return batch


def pin_for_rebuild(run: JobContext, lake: Lakehouse) -> None:
    """Pin silver for a rebuild of gold: to what publish has processed.

    Publish finds the rows that new events affect by what differs from gold. A table of gold with later rows
    would leave no difference to find. If silver has been rebuilt since, there is no version of it without the
    later rows: then all of gold has to be rebuilt, up to what the gate approves.

    Args:
        run: the context of the rebuild.
        lake: the tables that the rebuild reads.

    Raises:
        MillraceError: if silver has been rebuilt, and expectations on the later rows are not met.
    """
    last = Ledger(run.lake).last("publish")
    upto, side_input_upto = (last.position, last.heard or EPOCH) if last else (EPOCH, EPOCH)
    rows = PinnedTables(lake, upto, _SILVER)
    side_input = PinnedTables(lake, min(upto, side_input_upto), _SILVER)
    if any(_pins_of(name, rows, side_input).hides_job(name, _REBUILDS) for name in _SILVER):
        pin_to_gate(lake, check_backlog(run))
    else:
        _pin_both(lake, rows, side_input)


def _pin_both(lake: Lakehouse, rows: PinnedTables, side_input: PinnedTables) -> None:
    """Pin the tables of repair to the side input, and the others to the rows."""
    lake.pinned = lambda name: _pins_of(name, rows, side_input)(name)


def _pins_of(name: str, rows: PinnedTables, side_input: PinnedTables) -> PinnedTables:
    return side_input if _SILVER.get(name) == "repair" else rows


def pin_to_published(lake: Lakehouse, published: Entry) -> None:
    """Pin touches, conversions and silver to the state after a batch of publish, while publish runs.

    Args:
        lake: the tables that the job reads.
        published: the ledger row of the batch.
    """
    silver = PinnedTables(lake, published.position, _SILVER)
    first_writer = {table.name: published.job for table in (TOUCHES, CONVERSIONS)}
    gold = PinnedTables(lake, published.position, first_writer, published.heard)
    lake.pinned = lambda name: gold(name) if name in first_writer else silver(name)


def unpin(lake: Lakehouse) -> None:
    """Read silver at its latest version."""
    lake.pinned = lambda _: None


def check_backlog(run: JobContext) -> datetime:
    """Evaluate expectations on rows of silver that publish has not seen, as a rebuild of gold includes them.

    Returns:
        Ingest stamp up to which all rows are approved.

    Raises:
        MillraceError: while rows are held back, or if expectations are not met, which closes the gate.
    """
    ledger, gates = Ledger(run.lake), GateLog(run.lake)
    last, published = gates.last(), ledger.last("publish")
    if last and last.state == CLOSED:
        require_open(run.lake)
    after = max(published.position if published else EPOCH, last.upto if last else EPOCH)
    refined = ledger.since("refine", after)
    if not refined[1]:
        return after
    upto = refined[1][-1].position
    results = GateChecks(run).evaluate(after, upto, refined)
    stopping = [result for result in results if result.stops]
    if stopping:
        gates.close("publish", after, upto, stopping)
        write_results(run.lake, rows_of("publish", after, upto, results))
        raise MillraceError(
            f"rows that are not published yet are not as expected: {'; '.join(map(str, stopping))}",
            "See `millrace quality`; then `millrace replay` or `millrace release`",
        )
    return upto
