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
class FileRule:
    """The rule for page events that are requests for files, not for pages, as in an access log.

    Args:
        requires: properties that must all be set.
        path: the property that is compared.
        endings: endings of the path, in lower case; if empty, no event is a request for a file.
    """

    requires: tuple[str, ...] = ()
    path: str = "path"
    endings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RoleRules:
    """Roles by event type, rules of track events by name, and which page events are files."""

    types: dict[str, str]
    tracks: dict[str, TrackRule]
    files: FileRule = FileRule()


def load_role_rules(conf: Path) -> RoleRules:
    """Read conf/roles.yml."""
    document = yaml.safe_load((conf / "roles.yml").read_text(encoding="utf-8"))
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
    given = document.get("files", {})
    files = FileRule(
        requires=tuple(given.get("requires", ())),
        path=given.get("path", "path"),
        endings=tuple(ending.lower() for ending in given.get("endings", ())),
    )
    return RoleRules(types=document["types"], tracks=tracks, files=files)
