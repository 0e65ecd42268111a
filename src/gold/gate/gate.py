"""The gate before gold: expectations are evaluated on new rows of silver before publish reads them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from gold.gate.gate_checks import GateChecks, Refined
from gold.gate.gate_view import pin_to_gate, unpin
from lakehouse.contracts.lineage import tables_of
from lakehouse.errors import MillraceError
from lakehouse.quality.alerts import Alerts
from lakehouse.quality.evaluation import Result
from lakehouse.quality.gate_log import RELEASED, GateEvent, GateLog
from lakehouse.quality.results import rows_of, run_id_of, write_results
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger, now
from lakehouse.run.microbatch import Batch
from lakehouse.timestamps import EPOCH, from_micros

_PUBLISHED = tuple(
    table.name for table in tables_of("gold") if table.writer == "publish" and table.cadence == "batch"
)
_RESULTS_INTERVAL = timedelta(seconds=30)


class Gate:
    """Admits micro-batches of publish, or holds them back while expectations are not met.

    Publish reads silver around each new event, so every row of silver has to be approved before anything is
    published. Tables are pinned to the approved rows while other jobs write. The state of the gate is in
    ops.gates, written before anything else; what was approved for an interrupted batch is in the metadata of
    gold's commits.

    Args:
        run: the context of publish.
    """

    def __init__(self, run: JobContext) -> None:
        self._run = run
        self._gates = GateLog(run.lake)
        self._ledger = Ledger(run.lake)
        self._checks = GateChecks(run)
        self._alerts = Alerts(run.settings, run.log)
        self._state = self._gates.last()
        self._last_evaluated: Entry | None = None
        self._alerted: str | None = None
        self._held: list[Result] = []
        self._failing: set[str] = set()
        self._results: list[dict[str, Any]] = []
        self._written_at = EPOCH
        written = [run.lake.last_commit(name) for name in _PUBLISHED]
        self.processed_through = _latest(written, "upto")
        self._side_input_done = _latest(written, "heard")
        published = self._ledger.last("publish")
        done = published.position if published else EPOCH
        self._approved = max(self.processed_through, self._side_input_done, self._decided(), done)

    def admit(self, batch: Batch) -> Batch | None:
        """The part of a micro-batch that may be published now; None while rows are held back.

        Pins silver to the approved rows.
        """
        unpin(self._run.lake)
        interrupted, is_clear = self._interrupted(batch), self._is_clear(batch)
        if interrupted is None and not is_clear:
            return None
        pin_to_gate(self._run.lake, self._approved)
        admitted = interrupted or batch
        side_input_at = max(admitted.side_input_after, min(admitted.side_input_upto, self._approved))
        return replace(admitted, side_input_upto=side_input_at)

    def idle_if_open(self, idle: Callable[[], None]) -> Callable[[], None]:
        """Publish's work when there is no batch, done only if every row of silver is approved."""

        def checked() -> None:
            refined = self._ledger.last("refine")
            if not (self._state and self._state.holds) and not (
                refined and refined.position > self._approved
            ):
                pin_to_gate(self._run.lake, self._approved)
                idle()
            self._write_results(always=self._run.once)

        return checked

    def end(self) -> None:
        """Wait until alerts are delivered. With `once`, raise an error if rows are held back."""
        self._alerts.finish()
        if self._run.once and self._state and self._state.holds:
            raise MillraceError(
                f"gold is held, since silver is not as expected: {'; '.join(self._state.reasons)}",
                "See `millrace quality`; then `millrace replay` or `millrace release`",
            )

    def _decided(self) -> datetime:
        """High-water mark of rows approved by a release or a replay."""
        return self._state.upto if self._state and not self._state.holds else EPOCH

    def _interrupted(self, batch: Batch) -> Batch | None:
        """The batch that was interrupted: it was approved, and a part of it may be in gold already."""
        if batch.after < batch.upto <= self.processed_through:
            return batch
        # It had changes of repair only:
        if batch.after < batch.upto and batch.side_input_after < self._side_input_done:
            return replace(
                batch,
                upto=batch.after,
                rows=0,
                upstream_watermark=batch.watermark,
                side_input_upto=self._side_input_done,
            )
        return None

    def _is_clear(self, batch: Batch) -> bool:
        """Whether no rows are held, after evaluating expectations on all new rows of silver."""
        if self._state and self._state.holds:
            self._state = self._gates.last()
        if self._state and self._state.holds:
            return self._hold(self._state)
        if self._alerted:
            self._checks.reset()
            if self._state and self._state.state == RELEASED:
                self._checks.accept(self._held)
            self._alerted, self._held = None, []
        self._approved = max(self._approved, batch.after, self._decided())
        new = self._ledger.after("refine", self._approved)
        return not new or self._evaluate(self._approved, (self._refined_upto(self._approved), new))

    def _refined_upto(self, position: datetime) -> Entry | None:
        """Refine's last ledger row up to a position, mostly the last one evaluated."""
        if self._last_evaluated and self._last_evaluated.position == position:
            return self._last_evaluated
        return self._ledger.since("refine", position)[0] if position > EPOCH else None

    def _evaluate(self, after: datetime, refined: Refined) -> bool:
        upto = refined[1][-1].position
        results = self._checks.evaluate(after, upto, refined)
        stopping = [result for result in results if result.stops]
        if stopping:
            self._close(after, upto, stopping)
        else:
            self._approved, self._last_evaluated = upto, refined[1][-1]
            self._checks.accept(results)
        self._log_results(after, upto, results)
        self._warn(after, upto, results)
        return not stopping

    def _close(self, after: datetime, upto: datetime, stopping: Sequence[Result]) -> None:
        self._state = self._gates.close("publish", after, upto, stopping)
        self._alerted, self._held = self._state.run_id, list(stopping)
        self._alert_closed(self._state, [str(result) for result in stopping])

    def _hold(self, state: GateEvent) -> bool:
        if self._alerted != state.run_id:  # closed by a process that may have died before its alert
            self._alerted = state.run_id
            self._alert_closed(state, list(state.reasons))
        return False

    def _alert_closed(self, state: GateEvent, why: list[str]) -> None:
        payload = {"event": "gate_closed", "id": state.run_id, "reasons": state.reasons, "details": why}
        line = f"the gate before gold is closed: {'; '.join(why)}"
        self._alerts.send(line, {**payload, "after": state.after, "upto": state.upto, "at": state.at})

    def _warn(self, after: datetime, upto: datetime, results: Sequence[Result]) -> None:
        """Alert on warnings that are new since the last evaluation."""
        failing = {result.expectation.id: result for result in results if not result.success}
        new = [each for name, each in failing.items() if name not in self._failing and not each.stops]
        evaluated = {each.expectation.id for each in results if each.rows >= each.expectation.at_least}
        self._failing = (self._failing - evaluated) | set(failing)
        if new:
            names, why = [each.expectation.id for each in new], [str(each) for each in new]
            payload = {"event": "warning", "id": run_id_of("publish", after, upto), "reasons": names}
            line = f"silver is not as expected: {'; '.join(why)}"
            self._alerts.send(line, {**payload, "details": why, "after": after, "upto": upto, "at": now()})

    def _log_results(self, after: datetime, upto: datetime, results: Sequence[Result]) -> None:
        self._results += rows_of("publish", after, upto, results)
        self._write_results(always=not all(result.success for result in results))

    def _write_results(self, always: bool) -> None:
        """Write collected results: at once if one failed, else every 30 seconds."""
        if self._results and (always or now() - self._written_at >= _RESULTS_INTERVAL):
            write_results(self._run.lake, self._results)
            self._results, self._written_at = [], now()


def _latest(commits: Iterable[Mapping[str, Any]], stamp: str) -> datetime:
    """The latest value of an ingest stamp in the metadata of commits."""
    return max((from_micros(each[stamp]) for each in commits if stamp in each), default=EPOCH)
