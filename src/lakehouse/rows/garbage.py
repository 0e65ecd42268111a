"""Settings of Python's garbage collector for processes with many rows."""

import gc

_OBJECTS = 100_000


def expect_many_rows() -> None:
    """Collect after 100,000 new objects instead of Python's default of 700.

    Rows are tuples without reference cycles. Making them takes twice as long with the default:
    docs/decisions/0028.
    """
    gc.set_threshold(_OBJECTS, 10, 10)
