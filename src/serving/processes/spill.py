"""Folders for what queries write to disk: removed with each query, or at the start of the next server."""

import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from serving.query_limits import QueryLimits, Spill


class SpillFolders:
    """A folder for each query, in one of this server, which is locked while the server runs.

    Args:
        limits: bytes of a query, number of queries, and bytes of the disk that all of them leave free.
        parent: folder of all servers; None: in the system's folder of temporary files.
    """

    def __init__(self, limits: QueryLimits, parent: Path | None = None) -> None:
        self._limits = limits
        self._parent = parent or Path(tempfile.gettempdir()) / f"millrace-queries-{os.getuid()}"
        self._starting = threading.Lock()
        self._own: FileLock | None = None

    @contextmanager
    def folder(self) -> Iterator[Spill]:
        """The place of a query on disk, which is removed at the end of the block."""
        folder = self.start() / uuid.uuid4().hex
        try:
            yield Spill(folder, self._size())
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def start(self) -> Path:
        """The folder of this server. When it is made, those of killed servers are removed."""
        with self._starting:
            if self._own is None:
                self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                for lock in self._parent.glob("*.lock"):
                    with suppress(Timeout):
                        _remove(FileLock(lock))
                self._own = FileLock(self._parent / f"{uuid.uuid4().hex}.lock", thread_local=False)
                self._own.acquire(timeout=0)
            folder = _folder_of(self._own)
            folder.mkdir(exist_ok=True)
            return folder

    def stop(self) -> None:
        """Remove the folder of this server."""
        with self._starting:
            if self._own is not None:
                _remove(self._own)
                self._own = None

    def _size(self) -> int:
        """Bytes that a query may take, so that as many as may run leave enough of the disk free."""
        left = shutil.disk_usage(self._parent).free - self._limits.free_disk
        return max(0, min(self._limits.disk, left // self._limits.at_once))


def _folder_of(lock: FileLock) -> Path:
    return Path(lock.lock_file).with_suffix("")


def _remove(lock: FileLock) -> None:
    """Remove a folder with its lock.

    Raises:
        Timeout: if another process holds it.
    """
    lock.acquire(timeout=0)
    shutil.rmtree(_folder_of(lock), ignore_errors=True)
    Path(lock.lock_file).unlink(missing_ok=True)
    lock.release(force=True)
