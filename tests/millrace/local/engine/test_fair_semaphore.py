"""Who works when jobs share few cores."""

import threading
from collections.abc import Callable

from kit.polling import eventually
from millrace.local.engine.fair_semaphore import FairSemaphore


def test_no_more_than_so_many_at_once():
    turns, inside, most, lock = FairSemaphore(2), [], [], threading.Lock()

    def work(name: int) -> None:
        for _ in range(200):
            with turns:
                with lock:
                    inside.append(name)
                    most.append(len(inside))
                with lock:
                    inside.remove(name)

    _run_all(work, 5)
    assert len(most) == 1000
    assert max(most) <= 2


def test_who_gives_a_turn_back_goes_behind_those_who_wait():
    turns, order, entered, go_on = FairSemaphore(1), [], threading.Event(), threading.Event()

    def greedy() -> None:
        with turns:
            entered.set()
            go_on.wait(10)
            order.append("greedy")
        with turns:
            order.append("greedy again")

    def patient() -> None:
        with turns:
            order.append("patient")

    first = threading.Thread(target=greedy)
    first.start()
    assert entered.wait(10)
    second = threading.Thread(target=patient)
    second.start()
    eventually(lambda: len(turns._waiting) == 1, what="a second thread waits")
    go_on.set()
    first.join(10)
    second.join(10)
    assert order == ["greedy", "patient", "greedy again"]


def test_an_error_gives_the_turn_back():
    turns = FairSemaphore(1)
    try:
        with turns:
            raise ValueError
    except ValueError:
        pass
    _run_all(lambda _: turns.__enter__(), 1)


def _run_all(work: Callable[[int], None], threads: int) -> None:
    running = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(20)
        assert not thread.is_alive()
