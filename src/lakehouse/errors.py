"""Errors that users see."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class MillraceError(Exception):
    """An error with the problem and the next step, each in a sentence.

    Args:
        problem: what was wrong and where, one line, without a full stop.
        next_step: what to do about it, one line, without a full stop.
    """

    def __init__(self, problem: str, next_step: str) -> None:
        super().__init__(f"{problem}. {next_step}.")
        self.problem = problem
        self.next_step = next_step


class ConcurrentChangeError(MillraceError):
    """Another application has committed a conflicting change: run the job again from the tables."""


def first_problem(error: ValidationError, between: str = ".") -> str:
    """The first problem of a document, after the path of its entry, whose keys are joined by a text."""
    first = error.errors()[0]
    place, problem = between.join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    return f"{place}: {problem}" if place else problem
