"""The gate before gold: expectations are evaluated on new rows of silver before publish reads them."""

from collections.abc import Callable, Sequence
from datetime import datetime

from gold.gate.gate_alerts import GateAlerts
from gold.gate.gate_checks import GateChecks, Refined
from gold.gate.gate_view import pin_batch, pin_to_gate, unpin
from gold.gate.published import PublishedThrough
from lakehouse.errors import MillraceError
from lakehouse.quality.evaluation import Result
from lakehouse.quality.gate_log import RELEASED, GateEvent, GateLog
from lakehouse.quality.results import ResultBuffer, rows_of
from lakehouse.run.batch_source import Batch
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.timestamps import EPOCH


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
        self._alerts = GateAlerts(run)
        self._results = ResultBuffer(run.lake)
        self._state = self._gates.last()
        self._last_evaluated: Entry | None = None
        self._alerted: str | None = None
        self._held: list[Result] = []
        self._published = PublishedThrough.of(run.lake)
        self._is_whole = False
        last = self._ledger.last("publish")
        done = last.position if last else EPOCH
        self._approved = max(self._published.rows, self._published.side_input, self._decided(), done)

    @property
    def processed_through(self) -> datetime:
        """High-water mark of gold when publish was started."""
        return self._published.rows

    def admit(self, batch: Batch) -> Batch | None:
        """The part of a micro-batch that may be published now; None while rows are held back.

        Pins silver to the approved rows, and to the side input of that part.
        """
        unpin(self._run.lake)
        interrupted, is_clear = self._published.interrupted(batch), self._is_clear(batch)
        if interrupted is None and not is_clear:
            return None
        admitted = pin_batch(self._run.lake, self._approved, interrupted or batch)
        has_input = admitted.upto > admitted.after or admitted.has_side_input
        return admitted if has_input else None

    def idle_if_open(self, idle: Callable[[], None]) -> Callable[[], None]:
        """Publish's work when there is no batch, done only if every row of silver is approved.

        It is not done either between the start of publish and the repetition of an interrupted batch.
        """

        def checked() -> None:
            refined = self._ledger.last("refine")
            is_approved = refined is None or refined.position <= self._approved
            is_held = self._state is not None and self._state.holds
            self._is_whole = self._is_whole or self._published.is_whole(self._ledger.last("publish"))
            if is_approved and not is_held and self._is_whole:
                pin_to_gate(self._run.lake, self._approved)
                idle()
            self._results.write(always=self._run.once)

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
        self._results.add(rows_of("publish", after, upto, results))
        self._results.write(always=not all(result.success for result in results))
        self._alerts.warn(after, upto, results)
        return not stopping

    def _close(self, after: datetime, upto: datetime, stopping: Sequence[Result]) -> None:
        self._state = self._gates.close("publish", after, upto, stopping)
        self._alerted, self._held = self._state.run_id, list(stopping)
        self._alerts.closed(self._state, [str(result) for result in stopping])

    def _hold(self, state: GateEvent) -> bool:
        if self._alerted != state.run_id:  # closed by a process that may have died before its alert
            self._alerted = state.run_id
            self._alerts.closed(state, list(state.reasons))
        return False
