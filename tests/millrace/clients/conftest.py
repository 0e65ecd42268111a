"""A separate topic for each test on the shared broker."""

import pytest

from kit.sending import settings_for
from lakehouse.settings import Settings


@pytest.fixture
def settings(broker, tmp_path) -> Settings:
    return settings_for(broker.bootstrap, tmp_path)
