"""Bytes that all channels keep together."""


class ByteBudget:
    """Counts bytes. It is for the thread of the event loop.

    Args:
        most: maximum number of bytes; None: no maximum.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self.used = 0

    def has_room(self, size: int = 0) -> bool:
        """Whether more bytes may be kept."""
        return self._most is None or self.used + size <= self._most
