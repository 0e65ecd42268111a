"""Reads host, campaign and click id from a page's address; repeated addresses are cached."""

from functools import lru_cache
from typing import NamedTuple

from folds.records.campaigns import PARAMETERS, click_id_of, read_parameters
from folds.records.hosts import host_of, registrable_domain

_MAX_CACHED = 1_000  # characters


class CampaignFields(NamedTuple):
    """Campaign fields of an address or an event; None if missing."""

    source: str | None = None
    medium: str | None = None
    name: str | None = None
    term: str | None = None
    content: str | None = None
    id: str | None = None


def is_named(campaign: CampaignFields) -> bool:
    """Whether source, medium, name or id is set; term or content alone are no campaign."""
    return any((campaign.source, campaign.medium, campaign.name, campaign.id))


class Address(NamedTuple):
    """Host, campaign fields, click id and registrable domain (or host) of an address; None if missing."""

    host: str | None = None
    campaign: CampaignFields = CampaignFields()
    click_id: str | None = None
    click_id_kind: str | None = None
    domain: str | None = None


NO_CAMPAIGN = CampaignFields()
_NONE = Address()


def read_address(address: str | None) -> Address:
    """Parse an address, using the cache."""
    if address is None:
        return _NONE
    return _read(address) if len(address) <= _MAX_CACHED else _read.__wrapped__(address)


@lru_cache(maxsize=65_536)
def _read(address: str) -> Address:
    host, found = host_of(address), read_parameters(address)
    domain = registrable_domain(host) if host else None
    if not found:
        return Address(host, domain=domain)
    campaign = CampaignFields(*(found.get(parameter) for parameter in PARAMETERS.values()))
    return Address(host, campaign, *click_id_of(found), domain)
