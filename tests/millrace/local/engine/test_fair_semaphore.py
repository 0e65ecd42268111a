"""The fair semaphore through which jobs share few cores."""

import threading
from collections.abc import Callable

from kit.polling import eventually
from millrace.local.engine.fair_semaphore import FairSemaphore


def test_semaphore_limits_concurrent_holders():
    semaphore, inside, most, lock = FairSemaphore(2), [], [], threading.Lock()

    def work(name: int) -> None:
        for _ in range(200):
            with semaphore.others:
                with lock:
                    inside.append(name)
                    most.append(len(inside))
                with lock:
                    inside.remove(name)

    _run_all(work, 5)
    assert len(most) == 1000
    assert max(most) <= 2


def test_released_semaphore_goes_to_longest_waiting_thread():
    semaphore, order, entered, release_first = FairSemaphore(1), [], threading.Event(), threading.Event()

    def greedy() -> None:
        with semaphore.others:
            entered.set()
            release_first.wait(10)
            order.append("greedy")
        with semaphore.others:
            order.append("greedy again")

    def patient() -> None:
        with semaphore.others:
            order.append("patient")

    first = threading.Thread(target=greedy)
    first.start()
    assert entered.wait(10)
    second = threading.Thread(target=patient)
    second.start()
    eventually(lambda: len(semaphore._waiting) == 1, what="a second thread waits")
    release_first.set()
    first.join(10)
    second.join(10)
    assert order == ["greedy", "patient", "greedy again"]


def test_jobs_that_go_ahead_pass_each_other_job_twice():
    semaphore, order, threads = FairSemaphore(1), [], []

    def work(name: str) -> None:
        with semaphore.first if name.startswith("first") else semaphore.others:
            order.append(name)

    with semaphore.others:
        for number, name in enumerate(["a", "b", "first 1", "first 2", "first 3", "c"], start=1):
            threads.append(threading.Thread(target=work, args=(name,)))
            threads[-1].start()
            eventually(lambda number=number: len(semaphore._waiting) == number, what=f"{name} waits")
    for thread in threads:
        thread.join(10)
    assert order == ["first 1", "first 2", "a", "b", "first 3", "c"]


def test_semaphore_is_released_after_an_error():
    semaphore = FairSemaphore(1)
    try:
        with semaphore.others:
            raise ValueError
    except ValueError:
        pass
    _run_all(lambda _: semaphore.others.__enter__(), 1)


def _run_all(work: Callable[[int], None], threads: int) -> None:
    running = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(20)
        assert not thread.is_alive()
