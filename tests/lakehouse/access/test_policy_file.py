"""Reloading of conf/access.yml: a partly written or invalid file never grants access."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.access import write_policy
from lakehouse.access.policy_file import PolicyFile

STRICT = "roles: {a: {tables: [gold.*]}}\naccounts: {ann@b.example: a}\naccount_default: null\n"
AccessCheck = Callable[[], bool]


class Clock:
    """A clock that the test advances."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_policy(tmp_path, STRICT) / "access.yml"


@pytest.fixture
def grants_access(file: Path, tmp_path: Path) -> AccessCheck:
    """Advance the clock by two seconds, and return whether an undeclared account has access."""
    clock = Clock()
    policy = PolicyFile(file.parent, tmp_path, clock)

    def check() -> bool:
        clock.now += 2
        return policy.current().role_of_account("eve@b.example", is_allowed=True) is not None

    return check


def write(file: Path, text: str, stamp: int) -> None:
    file.write_text(text)
    os.utime(file, ns=(stamp, stamp))


def test_changed_policy_is_loaded_after_two_equal_checks(file: Path, grants_access: AccessCheck) -> None:
    assert not grants_access()
    write(file, "local: admin", 10)
    assert [grants_access(), grants_access()] == [False, True]
    write(file, STRICT, 11)
    assert [grants_access(), grants_access()] == [True, False]


def test_partly_written_policy_is_not_loaded(file: Path, grants_access: AccessCheck) -> None:
    for size in range(len(STRICT)):
        write(file, STRICT[:size], 10 + size)
        assert not grants_access()


@pytest.mark.parametrize("text", ["", "roles: [", "account_default: x", "# nothing"])
def test_previous_policy_stays_while_file_is_invalid_or_empty(
    text: str, file: Path, grants_access: AccessCheck
) -> None:
    write(file, text, 10)
    assert [grants_access(), grants_access(), grants_access()] == [False] * 3


def test_previous_policy_stays_while_file_is_missing(file: Path, grants_access: AccessCheck) -> None:
    file.unlink()
    assert [grants_access(), grants_access(), grants_access()] == [False] * 3
