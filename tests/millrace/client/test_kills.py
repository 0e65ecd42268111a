from pathlib import Path
from random import Random

import pytest

from kit.consumer_kills import disturb
from kit.user_database import UserDatabase, sqlite_database


@pytest.mark.long
def test_effects_are_exactly_once_under_kills(in_postgres: UserDatabase, tmp_path: Path) -> None:
    databases = [sqlite_database(tmp_path / "user.db"), in_postgres]
    assert min(disturb(databases, tmp_path, 8, Random(7), every=0.3)) >= 1
