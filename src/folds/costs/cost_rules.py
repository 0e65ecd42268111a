"""conf/costs.yml: how cost files of platforms are read, and the names that their campaigns have in visits."""

from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from lakehouse.bundle_file import read_yaml
from lakehouse.errors import MillraceError, first_problem

FILE = "costs.yml"


class Campaign(NamedTuple):
    """A campaign as visits have it, by its campaign parameters."""

    source: str | None
    medium: str | None
    name: str


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CostColumns(_Entry):
    """Names of a file's columns, in any case: the first that is there counts.

    Attributes:
        last_day: the row's last day; it must be `day`.
        cost: `{currency}` in a name stands for a code, as in `Amount spent (EUR)`.
    """

    day: list[str] = Field(min_length=1)
    last_day: list[str] = []
    campaign: list[str] = Field(min_length=1)
    source: list[str] = []
    medium: list[str] = []
    ad_group: list[str] = []
    account: list[str] = []
    cost: list[str] = Field(min_length=1)
    currency: list[str] = []
    clicks: list[str] = []
    impressions: list[str] = []


class CostDefaults(_Entry):
    """Values of what a file has no column for."""

    source: str | None = None
    medium: str | None = None
    account: str = "default"
    currency: str | None = None


class Platform(_Entry):
    """How the cost files of a platform are read.

    Attributes:
        columns: names of the columns.
        defaults: values of missing columns.
        day_formats: how days are written other than 2026-03-01, as of Python's strptime.
        decimal_point: the sign before decimals; the other one, blanks and apostrophes separate thousands.
        totals: a row that starts with one of these, in any case, is a sum or a footer.
    """

    columns: CostColumns
    defaults: CostDefaults = CostDefaults()
    day_formats: list[str] = []
    decimal_point: Literal[".", ","] = "."
    totals: list[str] = ["Total"]


class CampaignName(_Entry):
    """The campaign of a name in a file; parts that are missing stay as they are."""

    source: str | None = None
    medium: str | None = None
    name: str | None = None


class CostRules(_Entry):
    """The file's content."""

    platforms: dict[str, Platform] = {}
    names: dict[str, CampaignName] = {}

    @field_validator("names", mode="before")
    @classmethod
    def _names_as_text(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given or {}
        return {name: {"name": to} if isinstance(to, str) else to for name, to in given.items()}

    @cached_property
    def _by_name(self) -> dict[str, CampaignName]:
        return {name.strip(): to for name, to in self.names.items()}

    def campaign(self, source: str | None, medium: str | None, name: str) -> Campaign:
        """The campaign of a row as visits have it."""
        known = self._by_name.get(name)
        if known is None:
            return Campaign(source, medium, name)
        return Campaign(known.source or source, known.medium or medium, known.name or name)


def load_cost_rules(conf: Path) -> CostRules:
    """Read conf/costs.yml; without it, no cost file can be read, and names stay as they are.

    Raises:
        MillraceError: if it is not valid.
    """
    file = conf / FILE
    if not file.is_file():
        return CostRules()
    try:
        return CostRules.model_validate(read_yaml(file))
    except ValidationError as error:
        raise MillraceError(f"{file} is not valid: {first_problem(error)}", "Correct the file") from None
