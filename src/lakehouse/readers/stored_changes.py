"""Rows of Delta's change data feed of one table, fetched while its history is read."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

_VERSION = "_commit_version"
_THREADS = ThreadPoolExecutor(8, "feed")


@dataclass
class StoredChanges:
    """Reads the changed rows of versions; those of a commit that has just been noticed, in advance.

    Args:
        read: reads the rows of a range of versions, the last one included; None: all later ones.
    """

    read: Callable[[int, int | None], pa.Table]
    _is_followed: bool = False
    _coming: "Future[pa.Table] | None" = field(default=None, repr=False)

    def expect(self, version: int) -> None:
        """Begin to read the rows from a version on, if anybody reads changes of this table."""
        if self._is_followed:
            self._coming = _THREADS.submit(self.read, version, None)

    def of(self, version: int) -> pa.Table:
        """The rows of a version."""
        self._is_followed = True
        coming, self._coming = self._coming, None
        if coming is not None and coming.exception() is None:
            found = coming.result()
            latest = pc.max(found[_VERSION]).as_py()
            if latest is not None and latest > version:
                self._coming = coming
            # Of its last version and earlier ones it has all rows, of later ones it may have none yet.
            if latest is not None and latest >= version >= pc.min(found[_VERSION]).as_py():
                return found.filter(pc.equal(found[_VERSION], version))
        return self.read(version, version)
