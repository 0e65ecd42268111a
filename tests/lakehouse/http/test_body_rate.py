"""Only the time for which a server waits for a sender counts against the rate of its body."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Message, Receive, Scope, Send

from lakehouse.http import body_rate
from lakehouse.http.body_rate import BodyRate, SlowBodyError

GRACE, RATE = 0.2, 1000.0
PART: Message = {"type": "http.request", "body": b"x" * 100, "more_body": True}
LAST: Message = {"type": "http.request", "body": b"", "more_body": False}


class Clock:
    """A clock that tests move forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


def read(receive: Receive, work: Callable[[], Awaitable[None]]) -> int:
    """Bytes of a body, read by an application that works before each part."""
    size = 0

    async def app(scope: Scope, receive_in_time: Receive, send: Send) -> None:
        nonlocal size
        message: Message = {"more_body": True}
        while message["more_body"]:
            await work()
            message = await receive_in_time()
            size += len(message["body"])

    async def send(message: Message) -> None:
        raise AssertionError(message)

    asyncio.run(BodyRate(app, GRACE, RATE)({"type": "http"}, receive, send))
    return size


def sent(*messages: Message) -> Receive:
    """Messages that are there when they are asked for; then nothing comes."""
    left = iter(messages)

    async def receive() -> Message:
        message = next(left, None)
        return message if message is not None else await asyncio.get_running_loop().create_future()

    return receive


def test_time_of_the_server_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(body_rate, "time", clock)

    async def work() -> None:
        clock.ahead += 60

    assert read(sent(PART, PART, LAST), work) == 200


def test_time_of_a_blocked_event_loop_hardly_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, parts = Clock(), sent(PART, LAST)
    monkeypatch.setattr(body_rate, "time", clock)

    async def receive() -> Message:
        clock.ahead += 60  # while the loop is blocked, the part waits in the system's buffer
        return await parts()

    async def work() -> None:
        pass

    assert read(receive, work) == 100


@pytest.mark.parametrize("parts", [0, 1, 3])
def test_silent_sender_is_slow(parts: int) -> None:
    async def work() -> None:
        pass

    since = time.monotonic()
    with pytest.raises(SlowBodyError):
        read(sent(*[PART] * parts), work)
    assert time.monotonic() - since >= GRACE + 100 * parts / RATE - 0.01


def test_fast_sender_may_be_silent_for_a_few_graces_only() -> None:
    fast: Message = {
        "type": "http.request",
        "body": b"x" * 10**6,
        "more_body": True,
    }  # 1000 s of the least rate

    async def work() -> None:
        pass

    since = time.monotonic()
    with pytest.raises(SlowBodyError):
        read(sent(fast), work)
    assert time.monotonic() - since < 10 * GRACE
