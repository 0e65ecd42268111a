"""Versions at which tables are pinned: every read in a block sees the same version of a table."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Versions = Mapping[str, int | None]
"""Versions by table; None for a table that does not exist."""

_PINNED: ContextVar[Versions | None] = ContextVar("pinned_versions", default=None)


@contextmanager
def pinned(versions: Versions) -> Iterator[None]:
    """Read these tables at these versions during the block, and other tables at their latest."""
    token = _PINNED.set(versions)
    try:
        yield
    finally:
        _PINNED.reset(token)


def pinned_versions() -> Versions:
    """The pinned tables; empty outside of a block."""
    return _PINNED.get() or {}


def at_pinned_versions(sql: str) -> str:
    """Spark SQL that reads the pinned tables at their versions."""
    for name, version in pinned_versions().items():
        if version is not None:
            sql = re.sub(rf"\b{re.escape(name)}\b", f"{name} VERSION AS OF {version}", sql)
    return sql
