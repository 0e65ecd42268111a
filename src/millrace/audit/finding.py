"""The result of one comparison of an audit."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """The result of one comparison: its subject, details, and whether it is right."""

    what: str
    detail: str
    is_right: bool
