"""Optimistic concurrency between applications: a commit has to be based on the version its job has read."""

import random
from collections.abc import Callable, Iterator, Mapping
from time import sleep
from uuid import uuid4

from delta import exceptions

from lakehouse.delta.commit_log import Commit
from lakehouse.errors import ConcurrentChangeError

_ATTEMPTS = 5
_MOST_ID = 2**40  # more than the commits of any table
_PAUSE_SECONDS = 0.2  # before the second attempt; twice as long before each later one

COLLISIONS = (
    exceptions.ConcurrentAppendException,
    exceptions.ConcurrentDeleteDeleteException,
    exceptions.ConcurrentDeleteReadException,
    exceptions.ConcurrentTransactionException,
    exceptions.ConcurrentWriteException,
    exceptions.DeltaConcurrentModificationException,
    exceptions.MetadataChangedException,
    exceptions.ProtocolChangedException,
)
"""Errors of Delta for conflicting commits; in Python none of these is a subclass of another."""

Transaction = Mapping[str, str | int]
"""`txnAppId` and `txnVersion` of a commit, as writer options."""


class CompareAndSwap:
    """Commits only if no other application has changed the table since the job first read it.

    All commits to a table carry transaction ids of one application id, which count up by one. Delta skips a
    commit whose id is not above the last one, and refuses one whose id was committed concurrently. Of two
    applications that have read the same version, one commits, and the other repeats its micro-batch.
    Compaction and changes of properties carry no id: a commit that conflicts with one of these is retried.
    Once only such commits are left in a table's log, the last id is unknown. Then all applications try 1, 2,
    4, 8, … until one is above it, as long as the log has none: two of them still try the same id.

    A job relies on its high-water mark of a table across micro-batches. So its commit is also refused when
    the same job, in another application, has committed since it read the mark.

    Args:
        commits: returns the commits to a table, the latest first.
        job: the job's name, as in the metadata of its commits.
    """

    def __init__(self, commits: Callable[[str], Iterator[Commit]], job: str) -> None:
        self._commits = commits
        self._job = job
        self._writer = uuid4().hex
        self._versions: dict[str, int] = {}
        self._known: dict[str, int] = {}  # up to here, no other application has run this job
        self._without_id: set[str] = set()  # tables whose log has no id, or none any more

    def begin(self) -> None:
        """Forget which versions were read: the next commits are based on later reads."""
        self._versions.clear()

    def note(self, name: str) -> None:
        """Note the version of a table that the job reads.

        Raises:
            ConcurrentChangeError: if another application has run the same job since `rely_on`.
        """
        if name in self._versions:
            return
        version, known = 0, self._known.get(name)
        self._without_id.add(name)
        for _, metadata in self._commits(name):
            if "txn" not in metadata:
                continue
            self._without_id.discard(name)
            found = int(metadata["txn"])
            version = max(version, found)
            if known is None or found <= known:
                break
            if metadata.get("job") == self._job and metadata.get("writer") != self._writer:
                raise _changed(name)
        self._versions[name] = version
        if known is not None:
            self._known[name] = max(known, version)

    def rely_on(self, name: str, last: Mapping[str, object]) -> None:
        """Note the job's last commit to a table, which it relies on from now on.

        Args:
            name: the table.
            last: metadata of that commit; empty if there is none.
        """
        found = last.get("txn")
        self._known.setdefault(name, int(found) if isinstance(found, int) else 0)

    def commit(self, name: str, write: Callable[[Transaction, Mapping[str, object]], None]) -> None:
        """Commit to a table.

        Args:
            name: the table.
            write: makes the commit, given its transaction ids and further metadata.

        Raises:
            ConcurrentChangeError: if another application has changed the table, or every attempt conflicts.
        """
        self.note(name)
        version, collisions = self._versions[name] + 1, 0
        while collisions < _ATTEMPTS:
            transaction: Transaction = {"txnAppId": f"millrace:{name}", "txnVersion": version}
            try:
                write(transaction, {"txn": version, "writer": self._writer})
            except COLLISIONS:
                sleep(random.uniform(0, _PAUSE_SECONDS * 2**collisions))
                collisions += 1
                continue
            is_mine = self._is_mine(name, version)
            if is_mine:
                self._versions[name] = version
                self._without_id.discard(name)
                return
            if is_mine is not None or name not in self._without_id or version > _MOST_ID:
                break
            version *= 2
        raise _changed(name)

    def _is_mine(self, name: str, version: int) -> bool | None:
        """Whether this application has committed an id; None if the log has no ids."""
        found = None
        for _, metadata in self._commits(name):
            if "txn" in metadata:
                found = metadata["txn"] == version and metadata.get("writer") == self._writer
                if metadata["txn"] <= version:
                    break
        return found


def _changed(name: str) -> ConcurrentChangeError:
    return ConcurrentChangeError(
        f"another application has changed {name} in the middle of a micro-batch",
        "Nothing is lost or doubled. Run the job again: it resumes where it stopped",
    )
