"""Test oracle for on-site promotion clicks, computed naively."""

from dataclasses import dataclass

from kit.oracle_channels import parameter_of
from kit.oracle_hosts import host_of, is_same_site
from kit.oracle_wire import Fields, written

_UTM = ("source", "medium", "campaign", "term", "content", "id")


@dataclass(frozen=True)
class Choices:
    """Settings of conf/ that a shop may choose.

    Args:
        own_hosts: further hosts of the site, in addition to the landing host of the session.
        on_site_credit: whether clicks on on-site promotions are touches.
        view_through: whether impressions that led to a visit without a click are touches.
        campaign_in_session: whether another campaign in the middle of a session is a touch.
        person_level: custom dimensions of level `person`.
    """

    own_hosts: tuple[str, ...] = ()
    on_site_credit: bool = False
    view_through: bool = False
    campaign_in_session: bool = True
    person_level: tuple[str, ...] = ()


DEFAULTS = Choices()


def is_on_site(click: Fields, session: Fields, choices: Choices) -> bool:
    """Whether a click leads to the site itself, without a campaign of its own."""
    if click["has_context_campaign"]:
        return False
    for name in _UTM:
        there = written(parameter_of(click["url"], f"utm_{name}"))
        of_session = session["campaign_name" if name == "campaign" else f"campaign_{name}"]
        if there is not None and there != of_session:
            return False
    host = host_of(click["url"])
    own = [host_of(session["entry_url"]), *choices.own_hosts]
    return host is None or any(is_same_site(host, each) for each in own)
