"""Custom dimensions: reads and validates conf/dimensions.yml, and reads their values of a message."""

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Raw
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from folds.records.dimension_sources import AGENT, DimensionRule
from folds.records.json_text import NOTHING, text
from folds.records.message import Message, decode_members, decode_part
from folds.records.user_agent_traits import read_user_agent
from lakehouse.bundle_file import read_yaml
from lakehouse.errors import MillraceError, first_problem

FILE = "dimensions.yml"
MAX_VALUE = 100  # code points

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_NO_MEMBERS: dict[str, Raw] = {}


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of lower-case letters, digits and underscores")
    return name


class DimensionRules(BaseModel):
    """The rules of conf/dimensions.yml. Without them there are no custom dimensions.

    Args:
        max_values: of a dimension and day, which have rows of their own.
        dimensions: by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_values: Annotated[int, Field(ge=1, le=1000)] = 50
    dimensions: Annotated[
        Mapping[Annotated[str, AfterValidator(_name)], DimensionRule], Field(max_length=20)
    ] = {}

    @cached_property
    def of_sessions(self) -> frozenset[str]:
        """Names of the dimensions of level `session`."""
        return frozenset(name for name, rule in self.dimensions.items() if rule.level == "session")

    @cached_property
    def of_persons(self) -> frozenset[str]:
        """Names of the dimensions of level `person`."""
        return frozenset(name for name, rule in self.dimensions.items() if rule.level == "person")

    @cached_property
    def of_customers(self) -> Mapping[str, str]:
        """By name, the column of the shop's customers, of the dimensions that have one."""
        return {name: rule.column for name, rule in self.dimensions.items() if rule.column}

    def read(self, message: Message, user_agent: str | None) -> str | None:
        """The values of a message, as a JSON object in order of names; None without any.

        Args:
            message: the message.
            user_agent: of its context.
        """
        if not self._names:
            return None
        return as_text(tuple(self._value(message, user_agent, paths) for paths in self._paths), self._names)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(sorted(self.dimensions.keys() - self.of_customers))

    @cached_property
    def _paths(self) -> tuple[tuple[tuple[str, ...], ...], ...]:
        return tuple(
            tuple(tuple(path.split(".")) for path in self.dimensions[name].paths) for name in self._names
        )

    def _value(
        self, message: Message, user_agent: str | None, paths: tuple[tuple[str, ...], ...]
    ) -> str | None:
        for part, *names in paths:
            if part == AGENT:
                found = read_user_agent(user_agent).get(names[0]) if user_agent else None
            else:
                found = _member(getattr(message, part), names)
            if found:
                return found
        return None


NO_DIMENSIONS = DimensionRules()


@lru_cache(4096)
def as_text(values: tuple[str | None, ...], names: tuple[str, ...]) -> str | None:
    """The JSON object of some values, without those that are None; None if all are."""
    found = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    return msgspec.json.encode(found).decode() if found else None


def load_dimension_rules(conf: Path) -> DimensionRules:
    """Read conf/dimensions.yml; if it is missing, there are no custom dimensions.

    Raises:
        MillraceError: for an unknown name or a path that is not allowed.
    """
    file = conf / FILE
    given = read_yaml(file) if file.is_file() else {}
    try:
        return DimensionRules.model_validate(given)
    except ValidationError as error:
        raise MillraceError(f"{FILE}: {first_problem(error)}", f"Correct {file}") from error


def _member(part: Raw, names: list[str]) -> str | None:
    """The trimmed text at a path, at most `MAX_VALUE` long; None for an object or list."""
    for name in names:
        part = decode_part(part, decode_members, _NO_MEMBERS).get(name, NOTHING)
    if bytes(part).startswith((b"{", b"[")):
        return None
    return (text(part) or "").strip()[:MAX_VALUE].rstrip() or None
