"""What an audit says of one comparison."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One comparison: of what, with which result, and whether that is right."""

    what: str
    detail: str
    is_right: bool
