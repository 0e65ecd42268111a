"""The one kind of error a user is meant to read."""


class MillraceError(Exception):
    """Something a user can act on: what was wrong, where, and what to do next.

    Args:
        problem: what was wrong and where, one line, without a full stop.
        next_step: what to do about it, one line, without a full stop.
    """

    def __init__(self, problem: str, next_step: str) -> None:
        super().__init__(f"{problem}. {next_step}.")
        self.problem = problem
        self.next_step = next_step


class ConcurrentChangeError(MillraceError):
    """Another application has changed what this one has read; doing it again from the tables is right."""
