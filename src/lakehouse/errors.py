"""Errors that users see."""


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
    """Another application has committed a conflicting change: repeat from the tables."""
