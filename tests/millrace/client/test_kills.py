from pathlib import Path
from random import Random

from kit.consumer_kills import disturb
from kit.user_database import UserDatabase


def test_effects_are_exact_under_some_kills(database: UserDatabase, tmp_path: Path) -> None:
    assert disturb(database, tmp_path, 8, Random(7), pause=(0.1, 0.6), every=0.2) >= 2
