"""A home of its own for each test, in which nothing is left running."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakehouse.settings import load_settings
from millrace.local.launch import end


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home of one"  # a blank in a path is nothing special
    folder.mkdir()
    yield folder
    end(load_settings(home=folder))
