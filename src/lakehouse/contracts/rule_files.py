"""Which tables follow which rules of conf/."""

from collections.abc import Mapping
from functools import cache

from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.costs import CAMPAIGN_COSTS
from lakehouse.contracts.exposures import IMPRESSIONS, SEARCH_RESULTS, SEARCHES
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.contracts.shop import DIMENSIONS
from lakehouse.contracts.silver import (
    BOTS,
    DUPLICATE_EVENTS,
    EVENTS,
    IDENTITIES,
    REJECTED_EVENTS,
    SESSIONS,
)
from lakehouse.contracts.traffic import TRAFFIC

NUMBERS = "rules.yml"

_BY_NUMBER = {
    "session_gap": (SESSIONS.name, IDENTITIES.name),
    "continuation_span": (SESSIONS.name,),
    "impression_span": (IMPRESSIONS.name, TOUCHES.name),
    "click_pause": (IMPRESSIONS.name, TOUCHES.name),
    "search_span": (SEARCHES.name, SEARCH_RESULTS.name),
    "bot_events": (BOTS.name,),
    "bot_span": (BOTS.name,),
    "look_back": (CONVERSIONS.name, ATTRIBUTION.name, TRAILS.name),
    "half_life": (ATTRIBUTION.name,),
    "position_ends": (ATTRIBUTION.name,),
    "on_site_promotions": (TOUCHES.name,),
    "view_span": (TOUCHES.name,),
    "view_through": (CONVERSIONS.name, ATTRIBUTION.name),
    "campaign_in_session": (TOUCHES.name,),
}

FOLLOWED_BY: Mapping[str, tuple[str, ...]] = {
    "bots.yml": (BOTS.name,),
    "channels.yml": (EVENTS.name,),
    "consent.yml": (EVENTS.name, CONSENTS.name),
    "costs.yml": (CAMPAIGN_COSTS.name,),
    "crawlers.yml": (BOTS.name,),
    "currencies.yml": (EVENTS.name,),
    "dimensions.yml": (EVENTS.name,),
    "identities.yml": (EVENTS.name, REJECTED_EVENTS.name, DUPLICATE_EVENTS.name),
    "referrers.yml": (EVENTS.name,),
    "roles.yml": (EVENTS.name,),
    "shop.yml": tuple(DIMENSIONS),
    "windows.yml": (TRAFFIC.name,),
    **{f"{NUMBERS}:{number}": tables for number, tables in _BY_NUMBER.items()},
}
"""By file of conf/, or number of rules.yml as `rules.yml:NUMBER`, the tables whose rows follow it.

Tables that are computed from these follow it, too.
"""


@cache
def rules_of(table: str) -> frozenset[str]:
    """The files and numbers that a table follows itself, as in `FOLLOWED_BY`."""
    return frozenset(rule for rule, tables in FOLLOWED_BY.items() if table in tables)
