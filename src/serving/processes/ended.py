"""The end of a query's process."""

from typing import NamedTuple


class Ended(NamedTuple):
    """The last item of a process.

    Args:
        seconds: processor time that it took.
        error: problem and next step of its error; None: it had none.
    """

    seconds: float
    error: tuple[str, str] | None = None
