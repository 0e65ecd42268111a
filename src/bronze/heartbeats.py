"""When to write a heartbeat to an idle topic, so that its watermark advances."""

from datetime import timedelta


class HeartbeatTimer:
    """Tells when the next heartbeat is due.

    Args:
        interval: longest time that the topic may go without a record; None: no heartbeat is ever due.
    """

    def __init__(self, interval: timedelta | None) -> None:
        self._interval = interval
        self._last = 0.0

    def is_due(self, now: float, arrived: float) -> bool:
        """Whether no record has arrived and no heartbeat was due during the interval.

        Args:
            now: seconds of a monotonic clock.
            arrived: when the last records came, by the same clock.
        """
        if self._interval is None or now - max(arrived, self._last) < self._interval.total_seconds():
            return False
        self._last = now
        return True
