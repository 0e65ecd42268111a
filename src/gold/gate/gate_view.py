"""Silver as gold is to see it: what has passed the gate, and nothing else."""

from datetime import datetime

from gold.gate.gate_checks import Inspection
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES
from lakehouse.contracts.search_results import SEARCH_RESULTS
from lakehouse.contracts.silver import BOTS, EVENTS, EXCHANGE_RATES, IDENTITIES, SEARCHES, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.time_travel import Standing
from lakehouse.errors import MillraceError
from lakehouse.quality.gate_log import CLOSED, Gates, require_open
from lakehouse.quality.results import rows_of, write_results
from lakehouse.run.job import Run
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.timestamps import EPOCH

_REFINED = (EVENTS, SESSIONS, SEARCHES, SEARCH_RESULTS, EXCHANGE_RATES)
_REPAIRED = (IDENTITIES, BOTS)
_FILLED_BY = {
    **{table.name: "refine" for table in _REFINED},
    **{table.name: "repair" for table in _REPAIRED},
}


def show_passed(lake: Lakehouse, upto: datetime) -> None:
    """Let a job read silver as far as an ingest stamp, though other jobs are ahead, or broke off."""
    lake.pinned = Standing(lake, upto, _FILLED_BY)


def show_published(lake: Lakehouse, published: Entry) -> None:
    """Let a job read touches, conversions and silver as they were after a batch of publish, while it goes on.

    Args:
        lake: the tables that the job reads.
        published: the ledger row of the batch.
    """
    silver = Standing(lake, published.position, _FILLED_BY)
    filled_by = {table.name: published.job for table in (TOUCHES, CONVERSIONS)}
    gold = Standing(lake, published.position, filled_by, published.heard)
    lake.pinned = lambda name: gold(name) if name in filled_by else silver(name)


def show_all(lake: Lakehouse) -> None:
    """Let a job read silver as it is."""
    lake.pinned = lambda _: None


def pass_rest(run: Run) -> datetime:
    """Look at what has come to silver since publish: who makes gold anew takes that in, too.

    Returns:
        Ingest stamp up to which all has passed.

    Raises:
        MillraceError: while rows are held; or if these are not as expected, and now they are held.
    """
    ledger, gates = Ledger(run.lake), Gates(run.lake)
    last, published = gates.last(), ledger.last("publish")
    if last and last.state == CLOSED:
        require_open(run.lake)
    after = max(published.position if published else EPOCH, last.upto if last else EPOCH)
    refined = ledger.since("refine", after)
    if not refined[1]:
        return after
    upto = refined[1][-1].position
    results = Inspection(run).look(after, upto, refined)
    stopping = [result for result in results if result.stops]
    if stopping:
        gates.close("publish", after, upto, stopping)
        write_results(run.lake, rows_of("publish", after, upto, results))
        raise MillraceError(
            f"what has come since is not as expected: {'; '.join(map(str, stopping))}",
            "See `millrace quality`; then `millrace replay` or `millrace release`",
        )
    return upto
