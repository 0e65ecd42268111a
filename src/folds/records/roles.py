"""Event roles: reads conf/roles.yml."""

from dataclasses import dataclass, field
from pathlib import Path

import yaml

OTHER = "other"


@dataclass(frozen=True)
class TrackRule:
    """The rule for track events of one name.

    Args:
        role: the role of these events.
        requires: properties that must all be set.
        requires_any: properties of which at least one must be set, if any are named.
        takes: column -> property.
        shows: the property that lists the products shown.
        money: properties tried in turn for the value.
        negate: whether the value's sign is reversed.
    """

    role: str
    requires: tuple[str, ...] = ()
    requires_any: tuple[str, ...] = ()
    takes: dict[str, str] = field(default_factory=dict)
    shows: str | None = None
    money: tuple[str, ...] = ()
    negate: bool = False


@dataclass(frozen=True)
class RoleRules:
    """Roles by event type, and rules of track events by name."""

    types: dict[str, str]
    tracks: dict[str, TrackRule]

    @property
    def properties(self) -> tuple[str, ...]:
        """All properties that rules read."""
        read = {
            name
            for rule in self.tracks.values()
            for name in (*rule.requires, *rule.requires_any, *rule.takes.values(), rule.shows, *rule.money)
            if name is not None
        }
        return tuple(sorted(read))


def load_role_rules(conf: Path) -> RoleRules:
    """Read conf/roles.yml."""
    document = yaml.safe_load((conf / "roles.yml").read_text())
    tracks = {
        name: TrackRule(
            role=rule["role"],
            requires=tuple(rule.get("requires", ())),
            requires_any=tuple(rule.get("requires_any", ())),
            takes=rule.get("takes", {}),
            shows=rule.get("shows"),
            money=tuple(rule.get("money", ())),
            negate=rule.get("negate", False),
        )
        for name, rule in document["tracks"].items()
    }
    return RoleRules(types=document["types"], tracks=tracks)
