"""What a visit's channel is read from, and what rules look at of it."""

from dataclasses import dataclass
from typing import NamedTuple

from folds.records.addresses import read_address
from folds.records.campaigns import BLANKS
from folds.records.hosts import host_of
from folds.records.sites import Match


class Referrer(NamedTuple):
    """Where a visit came from.

    Args:
        host: None where the address has none, or an excluded one.
        site: the kind of site that it is, and the entry that says so.
        excluded: the entry that excludes it.
    """

    host: str | None = None
    site: Match | None = None
    excluded: str | None = None


NO_REFERRER = Referrer()


class Traits(NamedTuple):
    """What rules look at. Text is in lower case, without white space around it, and empty where missing.

    Args:
        click_id: which click id the page's address has.
        source: of the campaign.
        medium: of the campaign.
        has_campaign: whether there is a source, medium, name or id.
        source_site: the kind of site that the source names.
        has_referrer: whether it is a page on another host, and not excluded.
        referrer_site: the kind of site that it is.
    """

    click_id: str | None
    source: str
    medium: str
    has_campaign: bool
    source_site: str | None
    has_referrer: bool
    referrer_site: str | None


@dataclass(frozen=True)
class Visit:
    """What a channel is read from. Empty text where something is missing."""

    source: str = ""
    medium: str = ""
    name: str = ""
    url: str = ""
    referrer: str = ""
    id: str = ""

    @classmethod
    def of_addresses(cls, url: str, referrer: str = "") -> "Visit":
        """A visit whose campaign is that of the page's address."""
        campaign = read_address(url).campaign
        source, medium, name = (field or "" for field in campaign[:3])
        return cls(source, medium, name, url, referrer, campaign.id or "")

    @property
    def has_campaign(self) -> bool:
        """Whether any field is there that names a campaign."""
        return bool(self.source or self.medium or self.name or self.id)

    @property
    def foreign_host(self) -> str | None:
        """The referrer's host, if it isn't the page's own."""
        host = host_of(self.referrer)
        return host if host != host_of(self.url) else None

    def normalized(self) -> "Visit":
        """The same as rules compare it: source and medium in lower case, no white space around fields."""
        return Visit(
            self.source.strip(BLANKS).lower(),
            self.medium.strip(BLANKS).lower(),
            self.name.strip(BLANKS),
            self.url,
            self.referrer,
            self.id.strip(BLANKS),
        )
