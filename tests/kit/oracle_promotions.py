"""Which counted clicks are on the site's own promotions, once more, naively."""

from dataclasses import dataclass

from kit.oracle_channels import host_of, parameter_of
from kit.oracle_wire import Fields, written

_UTM = ("source", "medium", "campaign", "term", "content", "id")


@dataclass(frozen=True)
class Choices:
    """What conf/ leaves to a shop.

    Args:
        own_hosts: of the site, next to the one that a session landed on.
        on_site_credit: clicks on on-site promotions are touches.
        view_through: impressions that led to a visit without a click are touches.
    """

    own_hosts: tuple[str, ...] = ()
    on_site_credit: bool = False
    view_through: bool = False


DEFAULTS = Choices()


def is_on_site(click: Fields, session: Fields, choices: Choices) -> bool:
    """Whether a click leads from the site to the site, by no campaign of its own."""
    if click["has_context_campaign"]:
        return False
    for name in _UTM:
        there = written(parameter_of(click["url"], f"utm_{name}"))
        of_session = session["campaign_name" if name == "campaign" else f"campaign_{name}"]
        if there is not None and there != of_session:
            return False
    host = host_of(click["url"])
    own = [host_of(session["entry_url"]), *choices.own_hosts]
    return host is None or host in own or any(host.endswith(f".{each}") for each in choices.own_hosts)
