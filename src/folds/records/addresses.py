"""What a page's address gives away: host, campaign and click id. The same addresses come again and again."""

from functools import lru_cache
from typing import NamedTuple

from folds.records.campaigns import PARAMETERS, click_id_of, read_parameters
from folds.records.hosts import host_of

_MAX_CACHED = 1_000  # characters


class CampaignFields(NamedTuple):
    """Of an address or an event; None where it has none."""

    source: str | None = None
    medium: str | None = None
    name: str | None = None
    term: str | None = None
    content: str | None = None
    id: str | None = None


def is_named(campaign: CampaignFields) -> bool:
    """Whether source, medium, name or id is there; term or content alone make no campaign."""
    return any((campaign.source, campaign.medium, campaign.name, campaign.id))


class Address(NamedTuple):
    """Host, campaign fields and click id of an address; None where it has none."""

    host: str | None = None
    campaign: CampaignFields = CampaignFields()
    click_id: str | None = None
    click_id_kind: str | None = None


NO_CAMPAIGN = CampaignFields()
_NONE = Address()


def read_address(address: str | None) -> Address:
    """What an address has, from the cache if it has been seen."""
    if address is None:
        return _NONE
    return _read(address) if len(address) <= _MAX_CACHED else _read.__wrapped__(address)


@lru_cache(maxsize=65_536)
def _read(address: str) -> Address:
    host, found = host_of(address), read_parameters(address)
    if not found:
        return Address(host)
    campaign = CampaignFields(*(found.get(parameter) for parameter in PARAMETERS.values()))
    return Address(host, campaign, *click_id_of(found))
