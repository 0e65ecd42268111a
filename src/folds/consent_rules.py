"""Purposes that visitors consent to: reads and validates conf/consent.yml."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from msgspec import Raw
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from folds.records.json_text import NOTHING, text
from folds.records.message import decode_members, decode_part
from lakehouse.bundle_file import read_yaml
from lakehouse.errors import MillraceError, first_problem

FILE = "consent.yml"
_NO_MEMBERS: dict[str, Raw] = {}


class Purposes(NamedTuple):
    """Whether each purpose is granted."""

    analytics: bool
    attribution: bool
    ads: bool


class Stated(NamedTuple):
    """What an event states of each purpose; None of those that it says nothing of."""

    analytics: bool | None = None
    attribution: bool | None = None
    ads: bool | None = None


ALL_GRANTED = Purposes(True, True, True)
NOTHING_STATED = Stated()


def _lower(values: object) -> frozenset[str]:
    if not isinstance(values, list):
        raise ValueError("not a list of values")
    return frozenset(str(value).strip().lower() for value in values)


_Values = Annotated[frozenset[str], BeforeValidator(_lower)]


class PurposeRule(BaseModel):
    """How one purpose is read.

    Args:
        default: what holds until an event says something.
        paths: names within `context.consent`, separated by dots; the first that says something counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    default: Literal["granted", "refused"] = "granted"
    paths: tuple[str, ...] = ()


class _PurposeRules(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    analytics: PurposeRule = PurposeRule()
    attribution: PurposeRule = PurposeRule()
    ads: PurposeRule = PurposeRule()


class ConsentRules(BaseModel):
    """The rules of conf/consent.yml. Without them all purposes are granted, and nothing is read.

    Args:
        withdrawn: what a withdrawal takes back: events `from_then_on`, or `all` events before it as well.
        granted: values that grant, in lower case.
        refused: values that refuse.
        purposes: how each purpose is read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    withdrawn: Literal["from_then_on", "all"] = "from_then_on"
    granted: _Values = frozenset()
    refused: _Values = frozenset()
    purposes: _PurposeRules = _PurposeRules()

    @property
    def defaults(self) -> Purposes:
        """What holds for a visitor of whom nothing is known."""
        return Purposes(*(rule.default == "granted" for _, rule in self.purposes))

    @property
    def withdraws_all(self) -> bool:
        """Whether a withdrawal takes back the visitor's events before it."""
        return self.withdrawn == "all"

    def read(self, consent: Raw) -> Stated:
        """What `context.consent` states.

        Args:
            consent: its JSON, of any type.
        """
        return Stated(*(self._first(consent, rule.paths) for _, rule in self.purposes))

    def _first(self, consent: Raw, paths: Iterable[str]) -> bool | None:
        found = (self._value(consent, path) for path in paths)
        return next((value for value in found if value is not None), None)

    def _value(self, consent: Raw, path: str) -> bool | None:
        for name in path.split("."):
            consent = decode_part(consent, decode_members, _NO_MEMBERS).get(name, NOTHING)
        value = (text(consent) or "").strip().lower()
        return True if value in self.granted else False if value in self.refused else None


NO_CONSENT_RULES = ConsentRules()


def load_consent_rules(conf: Path) -> ConsentRules:
    """Read conf/consent.yml; if it is missing, all purposes are granted.

    Raises:
        MillraceError: for an unknown purpose or name, or a value that is not allowed.
    """
    file = conf / FILE
    given = read_yaml(file) if file.is_file() else {}
    try:
        return ConsentRules.model_validate(given)
    except ValidationError as error:
        raise MillraceError(f"{FILE}: {first_problem(error)}", f"Correct {file}") from error
