"""The gate before gold: what silver has newly taken in is looked at before publish reads any of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from gold.gate.gate_checks import Inspection, Refined
from gold.gate.gate_view import show_all, show_passed
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES, TRAILS, VISITOR_MINUTES
from lakehouse.errors import MillraceError
from lakehouse.quality.alerts import Alerts
from lakehouse.quality.evaluation import Result
from lakehouse.quality.gate_log import RELEASED, Change, Gates
from lakehouse.quality.results import rows_of, run_id_of, write_results
from lakehouse.run.job import Run
from lakehouse.run.ledger import Entry, Ledger, now
from lakehouse.run.microbatch import Batch
from lakehouse.timestamps import EPOCH, from_micros

_WRITTEN = (VISITOR_MINUTES.name, ATTRIBUTION.name, TRAILS.name, CONVERSIONS.name, TOUCHES.name)
_PACE = timedelta(seconds=30)


class Gate:
    """Lets a micro-batch of publish through, or holds it and all after it.

    Gold reads silver around each new event, not a batch of it, so all that silver has must have passed before
    anything is published; what other jobs write meanwhile is not seen. How the gate is follows from
    ops.gates, whose row is written before all else; what had passed when a batch was broken off, from gold's
    own commits.

    Args:
        run: publish's run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._gates = Gates(run.lake)
        self._ledger = Ledger(run.lake)
        self._inspection = Inspection(run)
        self._alerts = Alerts(run.settings, run.say)
        self._state = self._gates.last()
        self._looked: Entry | None = None
        self._told: str | None = None
        self._held: list[Result] = []
        self._failing: set[str] = set()
        self._results: list[dict[str, Any]] = []
        self._written_at = EPOCH
        written = [run.lake.last_commit(name) for name in _WRITTEN]
        self.begun = _latest(written, "upto")
        self._heard = _latest(written, "heard")
        published = self._ledger.last("publish")
        done = published.position if published else EPOCH
        self._passed = max(self.begun, self._heard, self._decided(), done)

    def admits(self, batch: Batch) -> Batch | None:
        """What of a micro-batch may be published now; None while rows are held.

        From then on publish sees of silver what has passed.
        """
        show_all(self._run.lake)
        begun, is_clear = self._begun(batch), self._is_clear(batch)
        if begun is None and not is_clear:
            return None
        show_passed(self._run.lake, self._passed)
        admitted = begun or batch
        heard = max(admitted.heard_after, min(admitted.heard_upto, self._passed))
        return replace(admitted, heard_upto=heard)

    def resting(self, rest: Callable[[], None]) -> Callable[[], None]:
        """What publish does when nothing is left to do, if silver has nothing that has not passed."""

        def rest_if_clear() -> None:
            refined = self._ledger.last("refine")
            if not (self._state and self._state.holds) and not (refined and refined.position > self._passed):
                show_passed(self._run.lake, self._passed)
                rest()
            self._write_down(always=self._run.once)

        return rest_if_clear

    def end(self) -> None:
        """Wait for alerts to be taken; in a run that catches up, say by an error that rows are held."""
        self._alerts.finish()
        if self._run.once and self._state and self._state.holds:
            raise MillraceError(
                f"gold is held, since silver is not as expected: {'; '.join(self._state.reasons)}",
                "See `millrace quality`; then `millrace replay` or `millrace release`",
            )

    def _decided(self) -> datetime:
        """How far somebody, or a look at held rows, has let rows through."""
        return self._state.upto if self._state and not self._state.holds else EPOCH

    def _begun(self, batch: Batch) -> Batch | None:
        """The batch that was broken off: it had passed, and a part of it may be in gold; so all has to be."""
        if batch.after < batch.upto <= self.begun:
            return batch
        if batch.after < batch.upto and batch.heard_after < self._heard:  # it was of repair's news alone
            return replace(
                batch, upto=batch.after, rows=0, upstream_watermark=batch.watermark, heard_upto=self._heard
            )
        return None

    def _is_clear(self, batch: Batch) -> bool:
        """Whether nothing is held, all that silver has been given by now having been looked at."""
        if self._state and self._state.holds:
            self._state = self._gates.last()
        if self._state and self._state.holds:
            return self._hold(self._state)
        if self._told:
            self._inspection.forget()
            if self._state and self._state.state == RELEASED:
                self._inspection.accept(self._held)
            self._told, self._held = None, []
        self._passed = max(self._passed, batch.after, self._decided())
        new = self._ledger.after("refine", self._passed)
        return not new or self._look(self._passed, (self._refined_upto(self._passed), new))

    def _refined_upto(self, position: datetime) -> Entry | None:
        """Refine's last row of the ledger up to there: most often the last that was looked at."""
        if self._looked and self._looked.position == position:
            return self._looked
        return self._ledger.since("refine", position)[0] if position > EPOCH else None

    def _look(self, after: datetime, refined: Refined) -> bool:
        upto = refined[1][-1].position
        results = self._inspection.look(after, upto, refined)
        stopping = [result for result in results if result.stops]
        if stopping:
            self._close(after, upto, stopping)
        else:
            self._passed, self._looked = upto, refined[1][-1]
            self._inspection.accept(results)
        self._keep(after, upto, results)
        self._warn(after, upto, results)
        return not stopping

    def _close(self, after: datetime, upto: datetime, stopping: Sequence[Result]) -> None:
        self._state = self._gates.close("publish", after, upto, stopping)
        self._told, self._held = self._state.run_id, list(stopping)
        self._tell_closed(self._state, [str(result) for result in stopping])

    def _hold(self, state: Change) -> bool:
        if self._told != state.run_id:  # closed by a process that may have died over telling
            self._told = state.run_id
            self._tell_closed(state, list(state.reasons))
        return False

    def _tell_closed(self, state: Change, why: list[str]) -> None:
        told = {"event": "gate_closed", "id": state.run_id, "reasons": state.reasons, "details": why}
        line = f"the gate before gold is closed: {'; '.join(why)}"
        self._alerts.send(line, {**told, "after": state.after, "upto": state.upto, "at": state.at})

    def _warn(self, after: datetime, upto: datetime, results: Sequence[Result]) -> None:
        """Tell of warnings that were none at the last look."""
        failing = {result.expectation.id: result for result in results if not result.success}
        new = [each for name, each in failing.items() if name not in self._failing and not each.stops]
        said = {each.expectation.id for each in results if each.rows >= each.expectation.at_least}
        self._failing = (self._failing - said) | set(failing)
        if new:
            names, why = [each.expectation.id for each in new], [str(each) for each in new]
            told = {"event": "warning", "id": run_id_of("publish", after, upto), "reasons": names}
            line = f"silver is not as expected: {'; '.join(why)}"
            self._alerts.send(line, {**told, "details": why, "after": after, "upto": upto, "at": now()})

    def _keep(self, after: datetime, upto: datetime, results: Sequence[Result]) -> None:
        self._results += rows_of("publish", after, upto, results)
        self._write_down(always=not all(result.success for result in results))

    def _write_down(self, always: bool) -> None:
        """Write results that have gathered: at once if it matters, else now and then."""
        if self._results and (always or now() - self._written_at >= _PACE):
            write_results(self._run.lake, self._results)
            self._results, self._written_at = [], now()


def _latest(commits: Iterable[Mapping[str, Any]], stamp: str) -> datetime:
    """The latest of what commits say of an ingest stamp."""
    return max((from_micros(told[stamp]) for told in commits if stamp in told), default=EPOCH)
