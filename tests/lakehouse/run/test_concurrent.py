"""Things done beside each other: two at a time, all of them ended, what they say kept apart."""

import threading

import pytest

from lakehouse.delta.commit_metadata import CommitMetadata
from lakehouse.run.concurrent import run_concurrently

SECONDS = 10.0


class _Session:
    """Stands for a Spark session: what is set in it."""

    def __init__(self) -> None:
        self.conf = self
        self.held: dict[str, str] = {}

    def set(self, name: str, value: str) -> None:
        self.held[name] = value

    def unset(self, name: str) -> None:
        del self.held[name]


def test_two_are_done_at_once_and_told_in_order() -> None:
    meeting = threading.Barrier(2, timeout=SECONDS)

    def meet(name: str) -> str:
        meeting.wait()
        return name

    assert run_concurrently([lambda: meet("one"), lambda: meet("two")]) == ["one", "two"]


def test_all_end_before_the_first_error_is_raised() -> None:
    ended = []

    def fail(name: str) -> None:
        ended.append(name)
        raise ValueError(name)

    with pytest.raises(ValueError, match="one"):
        run_concurrently([lambda: fail("one"), lambda: ended.append("two"), lambda: fail("three")])
    assert sorted(ended) == ["one", "three", "two"]


def test_those_who_say_the_same_go_together() -> None:
    session, meeting = _Session(), threading.Barrier(2, timeout=SECONDS)
    metadata = CommitMetadata(session)  # type: ignore[arg-type]

    def commit() -> list[str]:
        with metadata.on_session("upto 5"):
            meeting.wait()
            said = list(session.held.values())
            meeting.wait()
        return said

    assert run_concurrently([commit, commit]) == [["upto 5"], ["upto 5"]]
    assert session.held == {}


def test_who_says_something_else_waits_and_is_heard() -> None:
    session, started, entered = _Session(), threading.Event(), threading.Event()
    metadata = CommitMetadata(session)  # type: ignore[arg-type]
    heard = []

    def first() -> None:
        with metadata.on_session("upto 5"):
            started.set()
            assert not entered.wait(0.2)
            heard.append(list(session.held.values()))

    def second() -> None:
        started.wait(SECONDS)
        with metadata.on_session("upto 6"):
            entered.set()
            heard.append(list(session.held.values()))

    run_concurrently([first, second])
    assert heard == [["upto 5"], ["upto 6"]]
    assert session.held == {}


def test_a_commit_that_fails_says_nothing_any_more() -> None:
    session = _Session()
    with pytest.raises(RuntimeError), CommitMetadata(session).on_session("upto 5"):  # type: ignore[arg-type]
        raise RuntimeError("no commit")
    assert session.held == {}
