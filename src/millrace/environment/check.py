"""Results of checks of this machine."""

from dataclasses import dataclass
from enum import Enum


class CheckResult(Enum):
    """Severity of a result."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        subject: what was checked, in a word or two.
        result: severity of the result.
        seen: what was found.
        to_do: how to fix it; empty if nothing needs to be done.
    """

    subject: str
    result: CheckResult
    seen: str
    to_do: str = ""


def ok(subject: str, seen: str) -> Finding:
    """A passed check."""
    return Finding(subject, CheckResult.OK, seen)


def warn(subject: str, seen: str, to_do: str) -> Finding:
    """Millrace runs, but something is missing or slow."""
    return Finding(subject, CheckResult.WARN, seen, to_do)


def fail(subject: str, seen: str, to_do: str) -> Finding:
    """Millrace cannot run."""
    return Finding(subject, CheckResult.FAIL, seen, to_do)
