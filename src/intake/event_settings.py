"""Settings that map a provider's JSON to an event."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

ORIGINAL = "original"
"""The property with the complete value that the provider sent."""

Path = Annotated[str, StringConstraints(pattern=r"^[^.]+(\.[^.]+)*$")]


def _values(given: Any) -> tuple[str | None, ...]:
    """The values that a condition allows, as JSON texts; None for a missing field."""
    values = given if isinstance(given, list | tuple) else [given]
    if not values:
        raise ValueError("allows no value")
    return tuple(map(_value, values))


def _value(given: Any) -> str | None:
    if isinstance(given, bool):
        return str(given).lower()
    if given is not None and not isinstance(given, int | str):
        raise ValueError("allows texts, whole numbers, true, false and null")
    return None if given is None or given == "" else str(given)


Values = Annotated[tuple[str | None, ...], BeforeValidator(_values)]
When = Mapping[Path, Values]
"""The values that are allowed, by path; None allows a missing field. All paths have to match."""


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sum(_Settings):
    """A sum over a list. An empty list is 0.

    Args:
        list: path to the list.
        of: path to the number within each element.
        when: which elements count; all without it.
    """

    list: Path
    of: Path
    when: When = Field(default_factory=dict)


class Fields(_Settings):
    """Where the fields of an event are. Paths are names joined by dots; a number is an index of a list.

    Args:
        when: what the body must have for the event to be translated by `names`.
        time: path to the time: in any notation that the record parser reads, or seconds since 1970.
        user: path to the user's id.
        anonymous: path to the visitor's id.
        properties: paths by name of the property.
        minor_units: paths or sums of integers in the currency's minor unit, by name of the property.
        sums: sums over lists, by name of the property.
        decimals: decimals by currency, where the provider's minor unit differs from ISO 4217.
    """

    when: When = Field(default_factory=dict)
    time: Path | None = None
    user: Path | None = None
    anonymous: Path | None = None
    properties: Mapping[str, Path] = Field(default_factory=dict)
    minor_units: Mapping[str, Path | Sum] = Field(default_factory=dict)
    sums: Mapping[str, Sum] = Field(default_factory=dict)
    decimals: Mapping[str, Annotated[int, Field(ge=0, le=6)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _keeps_original(self) -> "Fields":
        if ORIGINAL in {*self.properties, *self.minor_units, *self.sums}:
            raise ValueError(f"the property {ORIGINAL} is what the provider sent: choose another name")
        return self


class NamedEvent(Fields):
    """An event of one name of the provider. Settings that it gives replace those of all events.

    Args:
        event: name of the event.
    """

    event: str = Field(min_length=1)


class Events(Fields):
    """Maps a provider's JSON to an event.

    Args:
        id: path to the provider's id.
        name: path to the provider's name of the event.
        names: event names by the provider's names, alone or with settings of their own.
    """

    id: Path | None = None
    name: Path | None = None
    names: Mapping[str, str | NamedEvent] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_possible(self) -> "Events":
        for fields in (self, *(self.fields_of(name) for name in self.names)):
            if fields.minor_units and "currency" not in fields.properties:
                raise ValueError("minor_units need properties.currency")
        return self

    def translated(self, name: str) -> str:
        """The event name of a provider's name: the same if it is not in `names`."""
        found = self.names.get(name, name)
        return found.event if isinstance(found, NamedEvent) else found

    def fields_of(self, name: str) -> Fields:
        """The settings for a provider's name: its own, else those of all events."""
        found = self.names.get(name)
        if not isinstance(found, NamedEvent):
            return self
        own = {each: getattr(found, each) for each in found.model_fields_set - {"event"}}
        return self.model_copy(update=own)
