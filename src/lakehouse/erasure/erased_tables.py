"""Whether anything was ever erased."""

from lakehouse.contracts.ops import ERASED_IDENTITIES, ERASED_RECORDS
from lakehouse.delta.delta_tables import Lakehouse

_TABLES = (ERASED_RECORDS.name, ERASED_IDENTITIES.name)


class ErasedTables:
    """The tables of erased records and identities.

    Args:
        lake: the tables.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake
        self._empty: tuple[int, ...] | None = None  # versions of the tables at which both are

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever erased. Reads the tables once for each of their versions."""
        versions = tuple(map(self._lake.version, _TABLES))
        if self._empty != versions:
            if not all(self._lake.read(name).isEmpty() for name in _TABLES):
                return False
            self._empty = versions
        return True
