"""The undisturbed run that the chaos tests compare with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kit.home import JOBS, Home

SMALL_BATCHES = "5000"
ROOT = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder."""
    for item in items:
        if ROOT in item.path.parents:
            item.add_marker(pytest.mark.chaos)


@pytest.fixture(scope="session")
def undisturbed_home(new_home: Callable[..., Home]) -> Home:
    """All jobs over 20,000 sample events, in several micro-batches, without a disturbance."""
    home = new_home(MILLRACE_MAX_BATCH_ROWS=SMALL_BATCHES)
    home.must("produce", "--events", "20000", "--seed", "11")
    home.must("run", *JOBS, "--once")
    return home
