"""A running collector, and the log of one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from intake.log.message_log import MessageLog
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


@pytest.fixture
def log(tmp_path: Path) -> Iterator[MessageLog]:
    """An empty log of a collector."""
    log = MessageLog(tmp_path / "messages.db")
    yield log
    log.close()
