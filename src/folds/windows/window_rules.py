"""Window definitions: reads and validates conf/windows.yml."""

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from folds.windows.time_windows import DayWindows, TimeWindows, Windows
from lakehouse.bundle_file import read_yaml
from lakehouse.errors import MillraceError, first_problem
from lakehouse.timestamps import span_micros

FILE = "windows.yml"
_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)
_MOST_AT_ONCE = 288  # overlapping windows that an event lies in: a day every five minutes
_Span = Annotated[timedelta, Field(gt=timedelta(0))]


class Trigger(BaseModel):
    """Holds back changes of a window before its end; exactly one of the two is set.

    Args:
        events: until this number of new events has arrived.
        every: until the watermark passes a multiple of this duration.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    events: int | None = Field(default=None, ge=1)
    every: _Span | None = None

    @model_validator(mode="after")
    def _is_one(self) -> "Trigger":
        if (self.events is None) == (self.every is None):
            raise ValueError("give either events or every")
        return self


class WindowRule(BaseModel):
    """A line of conf/windows.yml.

    Args:
        size: length of a time window; or
        events: minimum number of events in a count window.
        slide: time between window starts; the size, unless windows overlap.
        trigger: what holds back changes before the end; None publishes them with each batch.
        lateness: `revise` changes a window by late events; `count` leaves it as published at its end.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: _Span | None = None
    events: int | None = Field(default=None, ge=1)
    slide: _Span | None = None
    trigger: Trigger | None = None
    lateness: Literal["revise", "count"] = "revise"

    @model_validator(mode="after")
    def _can_be_summed(self) -> "WindowRule":
        if (self.size is None) == (self.events is None):
            raise ValueError("give either size or events")
        if self.size is None:
            if self.slide or self.trigger:
                raise ValueError("windows by events have neither slide nor trigger")
            return self
        slide = self.slide or self.size
        if self.size % _MINUTE or slide % _MINUTE:
            raise ValueError("size and slide are whole minutes")
        if self.size > _DAY:
            raise ValueError("size is at most a day")
        if self.size % slide:
            raise ValueError("size is not a multiple of slide")
        if self.size // slide > _MOST_AT_ONCE:
            raise ValueError(f"an event would lie in more than {_MOST_AT_ONCE} windows")
        if self.size < _DAY and _DAY % slide:
            raise ValueError("a day is not a multiple of slide: windows would start at other times each day")
        return self

    def windows(self, kind: str, zone: str) -> Windows | None:
        """The time windows of this rule, None for count windows; days are in a time zone."""
        if self.size is None:
            return None
        if self.size == _DAY and self.slide is None:
            return DayWindows(zone, kind)
        return TimeWindows(kind, span_micros(self.size), span_micros(self.slide or self.size))


WindowRules = Mapping[str, WindowRule]
"""Rules by the window's name, which is its `window_kind`."""

STANDARD: WindowRules = {
    "1 minute": WindowRule(size=_MINUTE),
    "1 hour": WindowRule(size=timedelta(hours=1)),
    "1 hour every 5 minutes": WindowRule(size=timedelta(hours=1), slide=timedelta(minutes=5)),
    "1 day": WindowRule(size=_DAY),
}
"""The windows that the dashboard pages read."""

_RULES = TypeAdapter(dict[str, WindowRule])


def load_window_rules(conf: Path) -> WindowRules:
    """Read conf/windows.yml; if it is missing, the rules are `STANDARD`.

    Raises:
        MillraceError: for an invalid line, or if a standard window is missing or changed.
    """
    file = conf / FILE
    if not file.is_file():
        return STANDARD
    try:
        found = _RULES.validate_python(read_yaml(file))
    except ValidationError as error:
        raise MillraceError(f"{FILE}: {first_problem(error, ': ')}", f"Correct {file}") from error
    for name, rule in STANDARD.items():
        if found.get(name) != rule:
            problem = "is missing" if name not in found else "is not as the pages read it"
            raise MillraceError(f"{FILE}: {name} {problem}", f"Restore the line {name}: {as_line(rule)}")
    return found


def windows_of(rules: WindowRules, zone: str) -> tuple[Windows, ...]:
    """The time windows of the rules; days are in a time zone."""
    found = (rule.windows(kind, zone) for kind, rule in rules.items())
    return tuple(windows for windows in found if windows)


def events_of(rules: WindowRules) -> dict[str, int]:
    """Minimum number of events in each kind of count window."""
    return {kind: rule.events for kind, rule in rules.items() if rule.events is not None}


def as_line(rule: WindowRule) -> str:
    """Format a rule as JSON, which is also YAML, without default values."""
    return rule.model_dump_json(exclude_defaults=True)


def to_json(rules: WindowRules) -> str:
    """Serialize rules for a commit's metadata."""
    return json.dumps({name: json.loads(as_line(rule)) for name, rule in rules.items()})


def from_json(text: str) -> WindowRules:
    """Deserialize rules that `to_json` serialized."""
    return _RULES.validate_json(text)
