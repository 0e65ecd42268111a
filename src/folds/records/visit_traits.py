"""Inputs of a visit's channel, and the traits that channel rules check."""

from dataclasses import dataclass
from typing import NamedTuple

from folds.records.addresses import read_address
from folds.records.hosts import host_of, is_same_site
from folds.records.sites import Match


class Referrer(NamedTuple):
    """The referrer of a visit.

    Args:
        host: None if the address has none, or an excluded one.
        site: the kind of its site, and the entry that matched.
        excluded: the entry that excludes it.
        domain: the registrable domain of the host, else the host.
    """

    host: str | None = None
    site: Match | None = None
    excluded: str | None = None
    domain: str | None = None


NO_REFERRER = Referrer()


class Traits(NamedTuple):
    """The traits of a visit that rules check. Text is in lower case and stripped, and empty if missing.

    Args:
        click_id: which click id the page's address has.
        source: of the campaign.
        medium: of the campaign.
        has_campaign: whether source, medium, name or id is set.
        source_site: the kind of site that the source names.
        has_referrer: whether the referrer is a page of another site that is not excluded.
        referrer_site: the kind of the referrer's site.
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
    """Inputs of a visit's channel; missing ones are empty text."""

    source: str = ""
    medium: str = ""
    name: str = ""
    url: str = ""
    referrer: str = ""
    id: str = ""

    @classmethod
    def of_addresses(cls, url: str, referrer: str = "") -> "Visit":
        """Build a visit with the campaign of the page's address."""
        campaign = read_address(url).campaign
        source, medium, name = (field or "" for field in campaign[:3])
        return cls(source, medium, name, url, referrer, campaign.id or "")

    @property
    def has_campaign(self) -> bool:
        """Whether a field that names a campaign is set."""
        return bool(self.source or self.medium or self.name or self.id)

    @property
    def foreign_host(self) -> str | None:
        """The referrer's host, if it is not of the page's site."""
        host = host_of(self.referrer)
        return None if is_same_site(host, host_of(self.url)) else host

    def normalized(self) -> "Visit":
        """Normalize for rules: source and medium in lower case, no white space around fields."""
        return Visit(
            self.source.strip().lower(),
            self.medium.strip().lower(),
            self.name.strip(),
            self.url,
            self.referrer,
            self.id.strip(),
        )
