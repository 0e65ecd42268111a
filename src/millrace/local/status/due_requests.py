"""Warnings of persons' requests whose deadline is near or over."""

from datetime import datetime, timezone

from lakehouse.settings import Settings
from privacy.erasure.unfinished import unfinished
from privacy.requests.register import Register


def due_requests(settings: Settings) -> list[str]:
    """A line for each such request and each erasure that has not ended, without whom it is about.

    Raises:
        MillraceError: if the register was changed.
    """
    now = datetime.now(timezone.utc)
    erasures = [
        f"the erasure of request {each} has not ended: unless it runs, `millrace erase --request {each}`"
        for each in unfinished(settings.home)
    ]
    return erasures + [
        f"request {each.id} {'was' if each.deadline < now else 'is'} due on {each.deadline:%Y-%m-%d}: "
        "`millrace privacy requests`"
        for each in Register(settings.home).requests()
        if each.is_due(now)
    ]
