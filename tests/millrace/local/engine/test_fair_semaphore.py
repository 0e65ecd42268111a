"""The fair semaphore through which jobs share few cores."""

import threading
from collections.abc import Callable
from types import SimpleNamespace

from kit.polling import eventually
from millrace.local.engine import fair_semaphore
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


def test_jobs_of_a_round_pass_each_other_job_four_times():
    order = _order_of("a", "b", "first 1", "first 2", "first 3", "first 4", "first 5", "c")
    assert order == ["first 1", "first 2", "first 3", "first 4", "a", "b", "first 5", "c"]


def test_one_other_job_is_let_in_after_each_round():
    order = _order_of("a", "first 1", "last 1", "first 2", "last 2", "b", "c")
    assert order == ["first 1", "last 1", "a", "first 2", "last 2", "b", "c"]


def test_other_jobs_wait_for_the_next_job_of_a_round_to_ask_for_its_turn(monkeypatch):
    monkeypatch.setattr(fair_semaphore, "time", SimpleNamespace(monotonic=lambda: 100.0))
    semaphore, order = FairSemaphore(1), []

    def work() -> None:
        with semaphore.others:
            order.append("other")

    other = threading.Thread(target=work)
    with semaphore.first:
        other.start()
        eventually(lambda: len(semaphore._waiting) == 1, what="the other job waits")
    other.join(0.2)  # the clock stands still, so it has to wait
    with semaphore.last:
        order.append("last")
    other.join(10)
    assert order == ["last", "other"]


def test_other_jobs_go_on_if_no_job_of_a_round_comes():
    semaphore = FairSemaphore(1)
    with semaphore.first:
        pass
    _run_all(lambda _: semaphore.others.__enter__(), 1)


def test_semaphore_is_released_after_an_error():
    semaphore = FairSemaphore(1)
    try:
        with semaphore.others:
            raise ValueError
    except ValueError:
        pass
    _run_all(lambda _: semaphore.others.__enter__(), 1)


def _order_of(*names: str) -> list[str]:
    """Names of threads in the order of their turns; they wait in the order given."""
    semaphore, order, threads = FairSemaphore(1), [], []
    turns = {"first": semaphore.first, "last": semaphore.last}

    def work(name: str) -> None:
        with turns.get(name.split(maxsplit=1)[0], semaphore.others):
            order.append(name)

    with semaphore.others:
        for number, name in enumerate(names, start=1):
            threads.append(threading.Thread(target=work, args=(name,)))
            threads[-1].start()
            eventually(lambda number=number: len(semaphore._waiting) == number, what=f"{name} waits")
    for thread in threads:
        thread.join(10)
    return order


def _run_all(work: Callable[[int], None], threads: int) -> None:
    running = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(20)
        assert not thread.is_alive()
