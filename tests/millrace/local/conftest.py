"""A separate home for each test; its processes are ended after the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakehouse.settings import load_settings
from millrace.local.launch import end


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home of one"  # paths may contain blanks
    folder.mkdir()
    yield folder
    end(load_settings(home=folder))
