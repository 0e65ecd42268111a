"""Channel rules: the first rule that matches decides."""

import re
from dataclasses import dataclass, field

from folds.records.addresses import Address, CampaignFields, is_named, read_address
from folds.records.hosts import host_and_path, registrable_domain
from folds.records.sites import Sites
from folds.records.visit_traits import NO_REFERRER, Referrer, Traits, Visit

ANY = "any"


@dataclass(frozen=True)
class Rule:
    """A channel and the conditions that must all be met; None means no condition.

    Args:
        channel: the resulting channel.
        click_ids: the address has one of these.
        source_site: the source names a site of this kind.
        source: pattern for the whole source.
        medium: pattern for the whole medium.
        campaign: there is a campaign.
        referrer: the referrer is a site of this kind, or `any`.
    """

    channel: str
    click_ids: tuple[str, ...] | None = None
    source_site: str | None = None
    source: str | None = None
    medium: str | None = None
    campaign: bool = False
    referrer: str | None = None

    def holds(self, of: Traits) -> bool:
        """Whether a visit meets every condition."""
        return (
            (self.click_ids is None or of.click_id in self.click_ids)
            and (self.source_site is None or of.source_site == self.source_site)
            and (self.source is None or re.fullmatch(self.source, of.source) is not None)
            and (self.medium is None or re.fullmatch(self.medium, of.medium) is not None)
            and (not self.campaign or of.has_campaign)
            and (self.referrer is None or of.has_referrer)
            and self.referrer in (None, ANY, of.referrer_site)
        )


@dataclass(frozen=True)
class ChannelRules:
    """The ordered rules, the default channel, and the sites that the rules refer to.

    Args:
        rules: the first that matches decides.
        otherwise: the channel if no rule matches.
        sites: search, social, email and so on.
        excluded: hosts that do not count as a referrer.
        own: hosts of the site itself.
    """

    rules: tuple[Rule, ...]
    otherwise: str
    sites: Sites = field(default_factory=lambda: Sites({}))
    excluded: Sites = field(default_factory=lambda: Sites({}))
    own: Sites = field(default_factory=lambda: Sites({}))

    def classify(self, visit: Visit) -> tuple[str, Rule | None]:
        """The channel of a visit, and the rule that matched."""
        return self.decide(self.traits(visit))

    def decide(self, traits: Traits) -> tuple[str, Rule | None]:
        """The channel of a visit's traits, and the rule that matched."""
        held = next((rule for rule in self.rules if rule.holds(traits)), None)
        return (held.channel if held else self.otherwise), held

    def read_referrer(self, address: str) -> Referrer:
        """Host, kind of site and registrable domain of the referring page."""
        host, path = host_and_path(address)
        if host is None:
            return NO_REFERRER
        if excluded := self.excluded.find(host, path):
            return Referrer(excluded=excluded.entry)
        return Referrer(host, self.sites.find(host, path), domain=registrable_domain(host))

    def traits(self, visit: Visit) -> Traits:
        """The traits of a visit that rules check."""
        normal, page = visit.normalized(), read_address(visit.url)
        campaign = CampaignFields(normal.source, normal.medium, normal.name, None, None, normal.id)
        return self.traits_of(campaign, page, self.read_referrer(visit.referrer))

    def traits_of(self, campaign: CampaignFields, page: Address, referrer: Referrer) -> Traits:
        """The traits of a visit, from inputs that are already parsed."""
        source, medium = ((text or "").strip().lower() for text in (campaign.source, campaign.medium))
        named = self.sites.find_source(source) if source else None
        foreign = referrer.host is not None and referrer.domain != page.domain
        return Traits(
            page.click_id_kind,
            source,
            medium,
            is_named(campaign),
            named.kind if named else None,
            foreign,
            referrer.site.kind if foreign and referrer.site else None,
        )
