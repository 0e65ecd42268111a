"""A real broker for the tests that send."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from millrace.workspace.broker import running_broker
from millrace.workspace.ports import free_port


@dataclass(frozen=True)
class Broker:
    bootstrap: str


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("broker"), free_port()) as bootstrap:
        yield Broker(bootstrap)
