"""conf/access.yml is followed, and half a file never opens anything."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.access import write_policy
from lakehouse.access.policy_file import PolicyFile

STRICT = "roles: {a: {tables: [gold.*]}}\naccounts: {ann@b.example: a}\naccount_default: null\n"
Look = Callable[[], bool]


class Clock:
    """A clock that is set forward by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_policy(tmp_path, STRICT) / "access.yml"


@pytest.fixture
def opens(file: Path, tmp_path: Path) -> Look:
    """Looks after two seconds: whether an account that is not named sees anything."""
    clock = Clock()
    policy = PolicyFile(file.parent, tmp_path, clock)

    def look() -> bool:
        clock.now += 2
        return policy.current().role_of_account("eve@b.example") is not None

    return look


def write(file: Path, text: str, stamp: int) -> None:
    file.write_text(text)
    os.utime(file, ns=(stamp, stamp))


def test_a_change_is_taken_once_it_is_the_same_at_two_checks(file: Path, opens: Look) -> None:
    assert not opens()
    write(file, "local: admin", 10)
    assert [opens(), opens()] == [False, True]
    write(file, STRICT, 11)
    assert [opens(), opens()] == [True, False]


def test_a_file_that_is_still_being_written_is_not_taken(file: Path, opens: Look) -> None:
    for size in range(len(STRICT)):
        write(file, STRICT[:size], 10 + size)
        assert not opens()


@pytest.mark.parametrize("text", ["", "roles: [", "account_default: x", "# nothing"])
def test_while_it_is_not_valid_or_empty_the_one_before_stays(text: str, file: Path, opens: Look) -> None:
    write(file, text, 10)
    assert [opens(), opens(), opens()] == [False] * 3


def test_while_it_is_gone_the_one_before_stays(file: Path, opens: Look) -> None:
    file.unlink()
    assert [opens(), opens(), opens()] == [False] * 3
