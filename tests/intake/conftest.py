"""Fixtures of the tracker's tests."""

from collections.abc import Callable, Iterator

import pytest

from kit.collecting import collector
from kit.home import Home
from kit.visiting import Collecting
from millrace.local.process.ports import stable_port


@pytest.fixture(scope="module")
def collecting(new_home: Callable[..., Home]) -> Iterator[Collecting]:
    """One collector for the tests that do not stop it."""
    home, port = new_home(), stable_port()
    with collector(home, port):
        yield Collecting(home, port)
