"""Draws examples of a hypothesis strategy as values, for tests that need many at once."""

from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

Example = TypeVar("Example")


def draw_examples(strategy: SearchStrategy[Example], examples: int, number: int) -> list[Example]:
    """At most `examples` examples.

    `number` is the seed. The examples are the same within a test run only, because hypothesis also draws
    constants from the loaded modules.
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
