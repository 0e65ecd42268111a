"""When an idle topic is due a heartbeat, so that its clock goes on by records."""

from datetime import timedelta


class HeartbeatTimer:
    """Says when to write the next heartbeat.

    Args:
        interval: how long the topic may go without a record; None, and none is ever due.
    """

    def __init__(self, interval: timedelta | None) -> None:
        self._interval = interval
        self._last = 0.0

    def is_due(self, now: float, arrived: float) -> bool:
        """Whether nothing has arrived, and no heartbeat been due, for the interval.

        Args:
            now: seconds of a clock that never goes back.
            arrived: when the last records came, by the same clock.
        """
        if self._interval is None or now - max(arrived, self._last) < self._interval.total_seconds():
            return False
        self._last = now
        return True
