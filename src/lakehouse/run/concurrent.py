"""Runs tasks concurrently: the driver plans one query on one core while others are idle."""

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pyspark import inheritable_thread_target
from pyspark.sql import is_remote

warnings.filterwarnings("ignore", "Spark session is not provided")  # its tags are not used here
T = TypeVar("T")
_MAX_CONCURRENT = 2  # more were not tried: see docs/decisions/0018


def run_concurrently(tasks: Iterable[Callable[[], T]]) -> list[T]:
    """Run tasks two at a time, started in order. The first error is raised after all have ended.

    Args:
        tasks: independent of each other; no two may write the same table.

    Returns:
        Their results, in the order given.
    """
    given = list(tasks)
    if len(given) == 1:
        return [given[0]()]
    with ThreadPoolExecutor(max_workers=_MAX_CONCURRENT) as workers:
        futures = [workers.submit(_with_properties(task)) for task in given]
    return [future.result() for future in futures]


def run_in_order(tasks: Iterable[Callable[[], None]]) -> None:
    """Run tasks one after the other. An error ends them."""
    for task in tasks:
        task()


def _with_properties(task: Callable[[], T]) -> Callable[[], T]:
    """The task in this thread's scheduler pool and with its job tags, which Spark keeps by thread."""
    return task if is_remote() else inheritable_thread_target(task)
