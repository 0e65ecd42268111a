"""Continuations: a session that comes back from a payment page, or from the site itself."""

from typing import NamedTuple


class Origin(NamedTuple):
    """Campaign, click id and channel of a session."""

    campaign_source: str | None
    campaign_medium: str | None
    campaign_name: str | None
    campaign_term: str | None
    campaign_content: str | None
    campaign_id: str | None
    click_id: str | None
    click_id_kind: str | None
    channel: str | None

    @property
    def is_named(self) -> bool:
        """Whether there is a campaign (source, medium, name or id) or a click id."""
        campaign = (self.campaign_source, self.campaign_medium, self.campaign_name, self.campaign_id)
        return any((*campaign, self.click_id))


class Entry(NamedTuple):
    """Of a session's first event: see the columns of silver.events."""

    url: str | None
    referrer: str | None
    has_internal_referrer: bool | None
    rules_version: str | None
    custom_dimensions: str | None = None


def may_continue(entry: Entry, origin: Origin, continues: str | None) -> bool:
    """Whether a session continues the one before it, if that ended recently enough.

    Args:
        entry: of the session.
        origin: of its first event, or of the session that it was found to continue.
        continues: id of that session, if it was found before.
    """
    return continues is not None or (bool(entry.has_internal_referrer) and not origin.is_named)
