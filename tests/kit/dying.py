"""A process that dies where it is about to commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lakehouse.delta.delta_tables import Lakehouse

_WRITES = ("append", "replace_where", "apply", "overwrite")


class DiedError(Exception):
    """The process has died."""


@contextmanager
def dying_at(*tables: str) -> Iterator[None]:
    """Let the process die where it is about to commit to one of some tables; other commits go through."""

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
