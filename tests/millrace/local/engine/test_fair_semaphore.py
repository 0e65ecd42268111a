"""The fair semaphore through which jobs share few cores."""

import threading
from collections.abc import Callable

from kit.polling import eventually
from millrace.local.engine.fair_semaphore import FairSemaphore


def test_semaphore_limits_concurrent_holders():
    semaphore, inside, most, lock = FairSemaphore(2), [], [], threading.Lock()

    def work(name: int) -> None:
        for _ in range(200):
            with semaphore:
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
        with semaphore:
            entered.set()
            release_first.wait(10)
            order.append("greedy")
        with semaphore:
            order.append("greedy again")

    def patient() -> None:
        with semaphore:
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


def test_semaphore_is_released_after_an_error():
    semaphore = FairSemaphore(1)
    try:
        with semaphore:
            raise ValueError
    except ValueError:
        pass
    _run_all(lambda _: semaphore.__enter__(), 1)


def _run_all(work: Callable[[int], None], threads: int) -> None:
    running = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(20)
        assert not thread.is_alive()
