"""What an event stands for: conf/roles.yml, read."""

from dataclasses import dataclass, field
from pathlib import Path

import yaml

OTHER = "other"


@dataclass(frozen=True)
class TrackRule:
    """What a track of one name stands for.

    Args:
        role: what it counts as.
        requires: properties it must have for that.
        takes: column -> property.
        money: properties tried in turn for the value.
        negate: whether the value's sign is turned.
    """

    role: str
    requires: tuple[str, ...] = ()
    takes: dict[str, str] = field(default_factory=dict)
    money: tuple[str, ...] = ()
    negate: bool = False


@dataclass(frozen=True)
class RoleRules:
    """Roles by type, and for tracks by name."""

    types: dict[str, str]
    tracks: dict[str, TrackRule]

    @property
    def properties(self) -> tuple[str, ...]:
        """Every property that some rule reads."""
        read = {
            name
            for rule in self.tracks.values()
            for name in (*rule.requires, *rule.takes.values(), *rule.money)
        }
        return tuple(sorted(read))


def load_role_rules(conf: Path) -> RoleRules:
    """Read conf/roles.yml."""
    document = yaml.safe_load((conf / "roles.yml").read_text())
    tracks = {
        name: TrackRule(
            role=rule["role"],
            requires=tuple(rule.get("requires", ())),
            takes=rule.get("takes", {}),
            money=tuple(rule.get("money", ())),
            negate=rule.get("negate", False),
        )
        for name, rule in document["tracks"].items()
    }
    return RoleRules(types=document["types"], tracks=tracks)
