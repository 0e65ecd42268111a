"""Few calls run at the same time, in total and of each reader, and the others hold no thread."""

import asyncio
import threading
from collections import Counter

from kit.polling import eventually_async
from serving.stream.fair_threads import FairThreads


class Calls:
    """Calls that run until they may end."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self._lock = threading.Lock()

    def wait(self, reader: str) -> str:
        self._count(reader, 1)
        assert self.may_end.wait(20)
        self._count(reader, -1)
        return reader

    def _count(self, reader: str, change: int) -> None:
        with self._lock:
            self.running[reader] += change
            self.most[reader] = max(self.most[reader], self.running[reader])
            self.most["all"] = max(self.most["all"], self.running.total())


def test_calls_of_a_reader_leave_threads_to_others() -> None:
    async def run() -> list[str]:
        threads = FairThreads(at_once=4, of_reader=3)
        readers = ["one"] * 50 + ["other"] * 2
        tasks = [asyncio.create_task(threads.run(reader, calls.wait, reader)) for reader in readers]
        await eventually_async(lambda: calls.running == {"one": 3, "other": 1})
        calls.may_end.set()
        return await asyncio.gather(*tasks)

    calls = Calls()
    assert sorted(asyncio.run(run())) == ["one"] * 50 + ["other"] * 2
    assert (calls.most["one"], calls.most["all"]) == (3, 4)


def test_call_that_nobody_waits_for_counts_until_it_ends() -> None:
    async def run() -> str:
        threads = FairThreads(at_once=4, of_reader=1)
        left = asyncio.create_task(threads.run("one", calls.wait, "one"))
        await eventually_async(lambda: calls.running["one"])
        left.cancel()
        waiting = asyncio.create_task(threads.run("one", calls.wait, "one"))
        gone = asyncio.create_task(threads.run("one", calls.wait, "gone"))
        assert await threads.run("other", int) == 0
        gone.cancel()
        await asyncio.wait({left, gone})
        calls.may_end.set()
        return await waiting

    calls = Calls()
    assert asyncio.run(run()) == "one"
    assert calls.most == {"one": 1, "all": 1}
