"""Loads the channel rules of conf/channels.yml and the hosts of conf/referrers.yml."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from folds.records.campaigns import CLICK_IDS
from folds.records.channel_rules import ANY, ChannelRules, Rule
from folds.records.hosts import host_of
from folds.records.sites import Sites, normal_entry, site_entry
from folds.records.visit_traits import Visit
from lakehouse.bundle_file import parse_yaml
from lakehouse.errors import MillraceError, first_problem

__all__ = ["ChannelRules", "Rule", "Visit", "host_of", "load_channel_rules"]

FILE, LIST_FILE = "channels.yml", "referrers.yml"
_ClickId = Literal[CLICK_IDS]  # type: ignore[valid-type]
_EXCLUDED, _OWN = "excluded", "own"


def _host(entry: str) -> str:
    normal = normal_entry(entry)
    if normal is None:
        raise ValueError(f"{entry!r} is no host")
    return normal


_Host = Annotated[str, AfterValidator(_host)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Site(_Strict):
    names: list[str] = []
    hosts: list[_Host] = []
    labels: list[str] = []


class _Rule(_Strict):
    channel: str
    click_id: list[_ClickId] | None = None
    source_site: str | None = None
    source: str | None = None
    medium: str | None = None
    campaign: bool = False
    referrer: str | None = None

    def rule(self) -> Rule:
        fields = self.model_dump(exclude={"click_id"})
        return Rule(**fields, click_ids=tuple(self.click_id) if self.click_id else None)


class _Document(_Strict):
    rules: list[_Rule]
    otherwise: str
    sites: dict[str, _Site] = {}
    country_endings: list[str] = []
    excluded_referrers: list[_Host] = []
    own_hosts: list[_Host] = []

    @model_validator(mode="after")
    def _names_sites_that_are_there(self) -> "_Document":
        for rule in self.rules:
            for site in (rule.source_site, rule.referrer):
                if site not in (None, ANY, *self.sites):
                    raise ValueError(f"{rule.channel}: no site is called {site}")
        return self

    def by_entry(self, of: Callable[[_Site], list[str]]) -> dict[str, str]:
        """Kind of site by host or name.

        Raises:
            MillraceError: for an entry of two kinds.
        """
        found: dict[str, str] = {}
        for kind, site in self.sites.items():
            for entry in of(site):
                if found.setdefault(entry, kind) != kind:
                    raise MillraceError(
                        f"{FILE}: {entry} is of the sites called {found[entry]}, and of {kind}", "Keep one"
                    )
        return found


class _List(BaseModel):
    """The part of conf/referrers.yml that is read; the file also has its source and date."""

    hosts: Annotated[dict[str, list[_Host]], Field(default_factory=dict)]

    def by_entry(self) -> dict[str, str]:
        return {entry: kind for kind, entries in self.hosts.items() for entry in entries}


def load_channel_rules(conf: Path) -> ChannelRules:
    """Load the current rules of conf/; without the list, only the hosts of channels.yml are known.

    Raises:
        MillraceError: for an unknown name, or a host of two kinds.
    """
    listed = conf / LIST_FILE
    texts = [file.read_text(encoding="utf-8") if file.is_file() else "" for file in (conf / FILE, listed)]
    return _load(*texts)


@lru_cache(maxsize=4)
def _load(text: str, listed: str) -> ChannelRules:
    """Parse the texts of the files, cached: jobs load them for each micro-batch, and they rarely change."""
    document = _validate(_Document, parse_yaml(text, FILE), FILE)
    hosts = _validate(_List, parse_yaml(listed, LIST_FILE) or {}, LIST_FILE).by_entry()
    endings = frozenset(document.country_endings)
    sites = Sites(
        entries=hosts | document.by_entry(lambda site: site.hosts),
        labels={kind: "|".join(site.labels) for kind, site in document.sites.items() if site.labels},
        endings=endings,
        names=document.by_entry(lambda site: site.names),
    )
    own = dict.fromkeys(map(site_entry, document.own_hosts), _OWN)
    excluded = dict.fromkeys((*document.excluded_referrers, *own), _EXCLUDED)
    rules = tuple(rule.rule() for rule in document.rules)
    return ChannelRules(
        rules, document.otherwise, sites, Sites(excluded, endings=endings), Sites(own, endings=endings)
    )


def _validate(model: type[Any], fields: Any, file: str) -> Any:
    try:
        return model.model_validate(fields or {})
    except ValidationError as error:
        raise MillraceError(f"{file}: {first_problem(error)}", f"Correct {file} in conf/") from error
