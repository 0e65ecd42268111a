"""Rules of conf/ that the parser uses."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from msgspec import Raw

from folds.consent_rules import NO_CONSENT_RULES, NOTHING_STATED, ConsentRules, Stated, load_consent_rules
from folds.records.addresses import NO_CAMPAIGN, Address, CampaignFields
from folds.records.channels import ChannelRules, load_channel_rules
from folds.records.dimension_rules import NO_DIMENSIONS, DimensionRules, load_dimension_rules
from folds.records.json_text import NOTHING
from folds.records.money import NO_CURRENCIES, Currencies, load_currencies
from folds.records.placeholders import load_placeholders
from folds.records.roles import RoleRules, load_role_rules
from folds.records.visit_traits import NO_REFERRER, Referrer
from lakehouse.run.rules_version import rules_version

_MAX_ENTRIES = 65_536
_MAX_CACHED = 1_000  # characters

_K = TypeVar("_K")
_V = TypeVar("_V")
_Key = tuple[str | None, str | None, bool, str | None, str | None]


@dataclass(frozen=True)
class ParseRules:
    """Rules of conf/, and the version of all its files.

    Args:
        roles: of events.
        channels: of visits.
        version: of all files.
        placeholders: values that are no ids, in lower case.
        currencies: what may stand before or after an amount.
        consent: of purposes.
        dimensions: custom ones.
    """

    roles: RoleRules
    channels: ChannelRules
    version: str
    placeholders: frozenset[str] = frozenset()
    currencies: Currencies = NO_CURRENCIES
    consent: ConsentRules = NO_CONSENT_RULES
    dimensions: DimensionRules = NO_DIMENSIONS

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the caches: each process fills its own."""
        of_values = self.placeholders, self.currencies, self.consent, self.dimensions
        return ParseRules, (self.roles, self.channels, self.version, *of_values)

    def channel(self, campaign: CampaignFields, page: Address, referrer: str | None) -> str:
        """The channel of a visit, cached by the inputs that determine it.

        Args:
            campaign: of the event, else of its page's address.
            page: the page's address.
            referrer: address of the referring page.
        """
        source, medium, name, _, _, id_ = campaign
        before = self._read_referrer(referrer) if referrer else NO_REFERRER
        host, site, _, domain = before
        if host is None or domain == page.domain:
            before, origin = NO_REFERRER, None
        else:
            origin = site.kind if site else ""
        key: _Key = (source, medium, name is not None or id_ is not None, page.click_id_kind, origin)
        found = self._channels.get(key)
        if found is None:
            found = self.channels.decide(self.channels.traits_of(campaign, page, before))[0]
            if len(source or "") + len(medium or "") <= _MAX_CACHED:
                _keep(self._channels, key, found)
        return found

    def is_internal(self, page: Address, referrer: str | None) -> bool:
        """Whether the address of the referring page is excluded, or of the site itself.

        Args:
            page: the page's address.
            referrer: address of the referring page.
        """
        if not referrer:
            return False
        before = self._read_referrer(referrer)
        if before.host is None:
            return before.excluded is not None
        return not self.channels.traits_of(NO_CAMPAIGN, page, before).has_referrer

    def stated(self, consent: Raw) -> Stated:
        """What `context.consent` states of each purpose, cached: most events of a site state the same."""
        if consent is NOTHING:
            return NOTHING_STATED
        sent = bytes(consent)
        found = self._consents.get(sent)
        if found is None:
            found = self.consent.read(consent)
            if len(sent) <= _MAX_CACHED:
                _keep(self._consents, sent, found)
        return found

    def _read_referrer(self, address: str) -> Referrer:
        found = self._referrers.get(address)
        if found is None:
            found = self.channels.read_referrer(address)
            if len(address) <= _MAX_CACHED:
                _keep(self._referrers, address, found)
        return found

    @cached_property
    def _consents(self) -> dict[bytes, Stated]:
        return {}

    @cached_property
    def _channels(self) -> dict[_Key, str]:
        return {}

    @cached_property
    def _referrers(self) -> dict[str, Referrer]:
        return {}


def load_parse_rules(conf: Path) -> ParseRules:
    """Load the current rules of conf/."""
    return ParseRules(
        load_role_rules(conf),
        load_channel_rules(conf),
        rules_version(conf),
        load_placeholders(conf),
        load_currencies(conf),
        load_consent_rules(conf),
        load_dimension_rules(conf),
    )


def _keep(cache: dict[_K, _V], key: _K, found: _V) -> None:
    if len(cache) >= _MAX_ENTRIES:
        cache.clear()
    cache[key] = found
