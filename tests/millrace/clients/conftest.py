"""A topic of one's own on the shared broker."""

import pytest

from kit.sending import settings_for
from lakehouse.settings import Settings


@pytest.fixture
def settings(broker, tmp_path) -> Settings:
    return settings_for(broker.bootstrap, tmp_path)
