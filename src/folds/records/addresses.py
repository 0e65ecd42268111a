"""What a page's address gives away: its host and campaign. The same addresses come again and again."""

from functools import lru_cache
from typing import NamedTuple

from folds.records.campaigns import campaign_of
from folds.records.channels import host_of

_MAX_CACHED = 1_000  # characters


class Address(NamedTuple):
    """Host and campaign fields of an address; None where it has none."""

    host: str | None = None
    source: str | None = None
    medium: str | None = None
    name: str | None = None


_NONE = Address()


def read_address(address: str | None) -> Address:
    """What an address has, from the cache if it has been seen."""
    if address is None:
        return _NONE
    return _read(address) if len(address) <= _MAX_CACHED else _read.__wrapped__(address)


@lru_cache(maxsize=65_536)
def _read(address: str) -> Address:
    campaign = campaign_of(address) if "utm_" in address else {}
    return Address(host_of(address), campaign.get("source"), campaign.get("medium"), campaign.get("name"))
