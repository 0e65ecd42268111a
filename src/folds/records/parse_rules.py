"""The rules of conf/ that parsing follows."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from folds.records.addresses import read_address
from folds.records.channels import ChannelRules, Visit, load_channel_rules
from folds.records.roles import RoleRules, load_role_rules
from lakehouse.rules import rules_version

_MAX_ENTRIES = 65_536
_MAX_CACHED = 1_000  # characters

_Seen = tuple[str | None, str | None, str | None, str | None, str | None]


@dataclass(frozen=True)
class ParseRules:
    """Roles and channels, and the version of all that is in conf/."""

    roles: RoleRules
    channels: ChannelRules
    version: str

    def __reduce__(self) -> tuple[object, ...]:
        """Without the cache: a process that unpickles the rules fills one of its own."""
        return ParseRules, (self.roles, self.channels, self.version)

    def channel(
        self, source: str | None, medium: str | None, name: str | None, url: str | None, referrer: str | None
    ) -> str:
        """The channel of a visit, from the cache if one that differs in nothing that counts has been seen.

        Of an address the host counts, and what its query's parameters say.
        """
        host = read_address(referrer).host
        foreign = host if host != read_address(url).host else None
        seen: _Seen = (source, medium, name, url if url and "=" in url else None, foreign)
        found = self._channels.get(seen)
        if found is None:
            visit = Visit(source or "", medium or "", name or "", url or "", referrer or "")
            found = self.channels.classify(visit)[0]
            self._keep(seen, found)
        return found

    @cached_property
    def _channels(self) -> dict[_Seen, str]:
        return {}

    def _keep(self, seen: _Seen, channel: str) -> None:
        if sum(len(part or "") for part in seen) <= _MAX_CACHED:
            if len(self._channels) >= _MAX_ENTRIES:
                self._channels.clear()
            self._channels[seen] = channel


def load_parse_rules(conf: Path) -> ParseRules:
    """Read them as they are in conf/ now."""
    return ParseRules(load_role_rules(conf), load_channel_rules(conf), rules_version(conf))
