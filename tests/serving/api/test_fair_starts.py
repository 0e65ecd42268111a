"""Hundreds of requests of one reader do not come before one of another reader."""

import asyncio

from serving.api.fair_starts import FairStarts


async def start(starts: FairStarts, reader: str, started: list[str]) -> None:
    await starts.begin(reader)
    started.append(reader)


def test_request_of_another_reader_begins_among_the_first() -> None:
    async def run() -> list[str]:
        starts, started = FairStarts(2), list[str]()
        await asyncio.gather(
            *(start(starts, "many", started) for _ in range(300)), start(starts, "one", started)
        )
        return started

    started = asyncio.run(run())
    assert started.index("one") == 2
    assert started.count("many") == 300


def test_requests_of_a_reader_begin_in_their_order_a_few_in_a_turn() -> None:
    async def run() -> tuple[list[str], list[int]]:
        starts, started, turns = FairStarts(2), list[str](), list[int]()
        tasks = []
        for number in range(7):

            async def one(number: int = number) -> None:
                await starts.begin("reader")
                started.append(str(number))

            tasks.append(asyncio.create_task(one()))
        while not all(task.done() for task in tasks):
            before = len(started)
            await asyncio.sleep(0)
            turns.append(len(started) - before)
        return started, turns

    started, turns = asyncio.run(run())
    assert started == [str(number) for number in range(7)]
    assert max(turns) == 2


def test_cancelled_request_takes_no_turn_and_nothing_is_kept() -> None:
    async def run() -> FairStarts:
        starts, started = FairStarts(1), list[str]()
        tasks = [asyncio.create_task(start(starts, "reader", started)) for _ in range(5)]
        await asyncio.sleep(0)
        for task in tasks[1:4]:
            task.cancel()
        await asyncio.wait_for(tasks[4], 10)
        assert started == ["reader"] * 2
        await asyncio.sleep(0)
        return starts

    starts = asyncio.run(run())
    assert not starts._started
    assert not starts._waiting
