"""On-site promotions: clicks on the site's own banners, which did not bring the visitor to the site."""

from folds.records.addresses import CampaignFields, is_named, read_address
from folds.records.hosts import host_and_path, host_of, is_same_site
from folds.records.sites import Sites
from folds.visitors.events import Event
from folds.visitors.sessions import Session

ON_SITE = "On-site"
_DIRECT, _DISPLAY = "Direct", "Display"
_FIELDS = tuple(f"campaign_{field}" for field in CampaignFields._fields)


def is_on_site(click: Event, session: Session | None, own: Sites) -> bool:
    """Whether a click is on an on-site promotion.

    It is not if its context has a campaign, if its address has a campaign field that its session does not
    have, or if its address is on a foreign host. A host is foreign if it neither has the registrable domain
    of the session's landing host nor is in `own`.

    Args:
        click: on a promotion.
        session: of the click; None if it has none.
        own: hosts of the site, `own_hosts` of conf/channels.yml.
    """
    if has_context_campaign(click):
        return False
    of_session = (None,) * len(_FIELDS) if session is None else [getattr(session, name) for name in _FIELDS]
    of_address = read_address(click.url).campaign
    if any(ours not in (None, theirs) for ours, theirs in zip(of_address, of_session, strict=True)):
        return False
    return _is_own_host(click.url, session, own)


def has_context_campaign(event: Event) -> bool:
    """Whether an event's context has a campaign; in older rows, a campaign that its address does not have."""
    if event.has_context_campaign is not None:
        return event.has_context_campaign
    fields = (getattr(event, name) for name in _FIELDS)
    of_address = read_address(event.url).campaign
    return is_named(
        CampaignFields(
            *(ours if ours != theirs else None for ours, theirs in zip(fields, of_address, strict=True))
        )
    )


def has_campaign(of: Event | Session) -> bool:
    """Whether a campaign's source, medium, name or id is set."""
    return is_named(CampaignFields(*(getattr(of, name) for name in _FIELDS)))


def own_channel(event: Event) -> str:
    """The channel of an event's own campaign, or Display; never Direct."""
    is_known = has_campaign(event) and event.channel not in (None, _DIRECT)
    return str(event.channel) if is_known else _DISPLAY


def _is_own_host(url: str | None, session: Session | None, own: Sites) -> bool:
    host, path = host_and_path(url or "")
    if host is None:
        return True
    landed_on = None if session is None else host_of(session.entry_url or "")
    return is_same_site(host, landed_on) or own.find(host, path) is not None
