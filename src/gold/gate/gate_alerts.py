"""Alerts of the gate: that it is closed, and warnings."""

from collections.abc import Sequence
from datetime import datetime

from lakehouse.quality.alerts import Alerts
from lakehouse.quality.evaluation import Result
from lakehouse.quality.gate_log import GateEvent
from lakehouse.quality.results import run_id_of
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import now


class GateAlerts:
    """Sends the alerts of the gate.

    Args:
        run: the context of publish.
    """

    def __init__(self, run: JobContext) -> None:
        self._alerts = Alerts(run.settings, run.log)
        self._failing: set[str] = set()

    def finish(self) -> None:
        """Wait until alerts are delivered."""
        self._alerts.finish()

    def closed(self, state: GateEvent, why: Sequence[str]) -> None:
        """Alert on a closed gate.

        Args:
            state: the event that closed it.
            why: the reasons, for people.
        """
        payload = {"event": "gate_closed", "id": state.run_id, "reasons": state.reasons, "details": why}
        line = f"the gate before gold is closed: {'; '.join(why)}"
        self._alerts.send(line, {**payload, "after": state.after, "upto": state.upto, "at": state.at})

    def warn(self, after: datetime, upto: datetime, results: Sequence[Result]) -> None:
        """Alert on warnings that are new since the last evaluation.

        Args:
            after: ingest stamp of the evaluated rows, excluded.
            upto: ingest stamp of the evaluated rows, included.
            results: all results of the evaluation.
        """
        failing = {result.expectation.id: result for result in results if not result.success}
        new = [each for name, each in failing.items() if name not in self._failing and not each.stops]
        evaluated = {each.expectation.id for each in results if each.rows >= each.expectation.at_least}
        self._failing = (self._failing - evaluated) | set(failing)
        if new:
            names, why = [each.expectation.id for each in new], [str(each) for each in new]
            payload = {"event": "warning", "id": run_id_of("publish", after, upto), "reasons": names}
            line = f"silver is not as expected: {'; '.join(why)}"
            self._alerts.send(line, {**payload, "details": why, "after": after, "upto": upto, "at": now()})
