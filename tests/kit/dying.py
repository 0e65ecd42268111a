"""Simulates a crash before a commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lakehouse.delta.delta_tables import Lakehouse

_WRITES = ("append", "merge_changes", "overwrite")


class DiedError(Exception):
    """The simulated crash."""


@contextmanager
def dying_at(*tables: str) -> Iterator[None]:
    """Crash before a commit to one of the tables. Commits to other tables succeed."""

    def dying(write: Any) -> Any:
        def commit(lake: Lakehouse, name: str, *args: Any, **more: Any) -> None:
            if name in tables:
                raise DiedError(name)
            write(lake, name, *args, **more)

        return commit

    with pytest.MonkeyPatch.context() as patched:
        for name in _WRITES:
            patched.setattr(Lakehouse, name, dying(getattr(Lakehouse, name)))
        try:
            yield
        except DiedError:
            return
    pytest.fail(f"nothing was written to {', '.join(tables)}")
