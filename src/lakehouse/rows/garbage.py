"""Python's garbage collector, set for processes that hold many rows."""

import gc

_OBJECTS = 100_000


def expect_many_rows() -> None:
    """Look for cycles after 100,000 new objects, not after 700 as Python does by default.

    Rows are tuples, which are in no cycle, and making them takes twice as long under the default:
    docs/decisions/0028.
    """
    gc.set_threshold(_OBJECTS, 10, 10)
