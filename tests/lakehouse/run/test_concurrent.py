"""Functions run concurrently: two at a time, all of them finished, with separate commit metadata."""

import threading

import pytest

from lakehouse.delta.commit_metadata import CommitMetadata
from lakehouse.run.concurrent import run_concurrently

SECONDS = 10.0


class _Session:
    """A simulated Spark session that keeps its settings."""

    def __init__(self) -> None:
        self.conf = self
        self.settings: dict[str, str] = {}

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value

    def unset(self, name: str) -> None:
        del self.settings[name]


def test_two_functions_run_at_once_with_results_in_order() -> None:
    meeting = threading.Barrier(2, timeout=SECONDS)

    def meet(name: str) -> str:
        meeting.wait()
        return name

    assert run_concurrently([lambda: meet("one"), lambda: meet("two")]) == ["one", "two"]


def test_all_functions_finish_before_first_error_is_raised() -> None:
    ended = []

    def fail(name: str) -> None:
        ended.append(name)
        raise ValueError(name)

    with pytest.raises(ValueError, match="one"):
        run_concurrently([lambda: fail("one"), lambda: ended.append("two"), lambda: fail("three")])
    assert sorted(ended) == ["one", "three", "two"]


def test_commits_with_equal_metadata_run_concurrently() -> None:
    session, meeting = _Session(), threading.Barrier(2, timeout=SECONDS)
    metadata = CommitMetadata(session)  # type: ignore[arg-type]

    def commit() -> list[str]:
        with metadata.on_session("upto 5"):
            meeting.wait()
            values = list(session.settings.values())
            meeting.wait()
        return values

    assert run_concurrently([commit, commit]) == [["upto 5"], ["upto 5"]]
    assert session.settings == {}


def test_commit_with_other_metadata_waits() -> None:
    session, started, entered = _Session(), threading.Event(), threading.Event()
    metadata = CommitMetadata(session)  # type: ignore[arg-type]
    seen = []

    def first() -> None:
        with metadata.on_session("upto 5"):
            started.set()
            assert not entered.wait(0.2)
            seen.append(list(session.settings.values()))

    def second() -> None:
        started.wait(SECONDS)
        with metadata.on_session("upto 6"):
            entered.set()
            seen.append(list(session.settings.values()))

    run_concurrently([first, second])
    assert seen == [["upto 5"], ["upto 6"]]
    assert session.settings == {}


def test_failed_commit_removes_its_metadata_from_session() -> None:
    session = _Session()
    with pytest.raises(RuntimeError), CommitMetadata(session).on_session("upto 5"):  # type: ignore[arg-type]
        raise RuntimeError("no commit")
    assert session.settings == {}
