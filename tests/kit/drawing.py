"""Examples of a strategy as values, for tests that need many at once."""

from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

Example = TypeVar("Example")


def draw_examples(strategy: SearchStrategy[Example], examples: int, number: int) -> list[Example]:
    """So many examples, at most.

    The same number gives the same ones in the same run of tests: hypothesis also draws constants from the
    modules that are loaded.
    """
    drawn: list[Example] = []

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: Example) -> None:
        drawn.append(example)

    collect()
    return drawn
