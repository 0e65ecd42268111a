"""Things done beside each other, since planning a query keeps one core busy and leaves the others idle."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
_AT_ONCE = 2  # more were not tried: see docs/decisions/0018


def side_by_side(tasks: Iterable[Callable[[], T]]) -> list[T]:
    """Do tasks two at a time, begun in the order given. All of them end, then the first error is raised.

    Args:
        tasks: none depends on another; no two write the same table.

    Returns:
        What each returns, in the order given.
    """
    given = list(tasks)
    if len(given) == 1:
        return [given[0]()]
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as workers:
        doing = [workers.submit(task) for task in given]
    return [each.result() for each in doing]
