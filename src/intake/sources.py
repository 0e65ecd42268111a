"""Sources of events in conf/sources.yml: who may send, and with which delivery semantics."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from folds.records.placeholders import load_placeholders
from intake.event_settings import Events
from intake.providers import Pull, Webhook
from lakehouse.bundle_file import read_private_yaml
from lakehouse.errors import MillraceError, first_problem

FILE = "sources.yml"


class Semantics(str, Enum):
    """Delivery semantics: how often silver.events contains an acknowledged event."""

    AT_MOST_ONCE = "at_most_once"
    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


class Acknowledge(str, Enum):
    """Where an event is durable when it is acknowledged."""

    LOG = "log"
    KAFKA = "kafka"


class Overload(str, Enum):
    """What happens to events of an unprotected source under overload."""

    REFUSE = "refuse"
    SHED = "shed"


class Source(BaseModel):
    """A client or group of clients: an entry of `conf/sources.yml`.

    Args:
        name: identifies the source in the audit and in Kafka's headers.
        key_sha256: SHA-256 of its write keys, as hexadecimal digits: keys themselves are not stored. While a
            key is replaced, two are valid.
        webhook: settings of its signed webhooks, instead of a write key.
        pull: settings of its stream, instead of a write key.
        events: maps a webhook or an element of the stream to an event.
        origins: origins of web pages that may use its write key; empty for any.
        delivery: delivery semantics.
        acknowledge: where an event is durable when it is acknowledged.
        protected: whether its events are taken while others are refused or shed.
        overload: what happens to its events under overload.
        events_per_second: maximum rate; further events are refused. None for no limit.
        largest_body: maximum bytes of a request.
        promises: whether it may promise to send no earlier events, which moves the watermark.
        lease: how long a promise holds without another one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    key_sha256: tuple[str, ...] = ()
    webhook: Webhook | None = None
    pull: Pull | None = None
    events: Events = Events()
    origins: tuple[str, ...] = ()
    delivery: Semantics = Semantics.EXACTLY_ONCE
    acknowledge: Acknowledge = Acknowledge.LOG
    protected: bool = False
    overload: Overload = Overload.REFUSE
    events_per_second: float | None = Field(default=None, gt=0)
    largest_body: int = Field(default=4 << 20, gt=0, le=16 << 20)
    promises: bool = False
    lease: timedelta = Field(default=timedelta(minutes=1), gt=timedelta(0))

    @field_validator("key_sha256", mode="before")
    @classmethod
    def _digests(cls, given: Any) -> Any:
        listed = given if isinstance(given, list | tuple) else [] if given is None else [given]
        digests = [str(each).lower() for each in listed]
        if not all(re.fullmatch("[0-9a-f]{64}", each) for each in digests):
            raise ValueError("is no SHA-256 of a write key: printf %s KEY | sha256sum")
        return digests

    @model_validator(mode="after")
    def _has_one_way(self) -> "Source":
        if sum(map(bool, (self.key_sha256, self.webhook, self.pull))) != 1:
            raise ValueError("has one of key_sha256, webhook and pull")
        if self.key_sha256 and self.events != Events():
            raise ValueError("events are those of a webhook or of pull")
        if self.pull is not None:
            kept = (
                "delivery",
                "acknowledge",
                "overload",
                "events_per_second",
                "origins",
                "promises",
                "lease",
            )
            if given := sorted(self.model_fields_set.intersection(kept)):
                raise ValueError(f"a stream is pulled exactly once, as fast as there is room: no {given[0]}")
            if self.pull.resume_parameter and not self.events.id:
                raise ValueError("resume_parameter needs events.id")
        return self

    @model_validator(mode="after")
    def _is_possible(self) -> "Source":
        if self.delivery is Semantics.AT_MOST_ONCE and self.acknowledge is Acknowledge.KAFKA:
            raise ValueError("at_most_once is acknowledged before Kafka has it: leave acknowledge out")
        if self.overload is Overload.SHED and not self.is_logged:
            raise ValueError("events are shed to the log: overload: shed needs acknowledge: log")
        return self

    @property
    def is_logged(self) -> bool:
        """Whether its events are in the node's log before they are acknowledged."""
        return self.acknowledge is Acknowledge.LOG and self.delivery is not Semantics.AT_MOST_ONCE


LOCAL = Source(name="local", key_sha256=("0" * 64,), promises=True)
"""The source of requests from this machine while no source is declared."""


@dataclass(frozen=True)
class Sources:
    """The declared sources. If none are declared, only this machine may send, with any key, as `local`.

    Args:
        declared: the sources.
        local: the source of this machine.
        placeholders: texts that are no ids, in lower case.
    """

    declared: Sequence[Source] = ()
    local: Source = LOCAL
    placeholders: frozenset[str] = frozenset()

    def find(self, write_key: str | None, is_local: bool, origin: str | None) -> Source | None:
        """The source of a request; None if it may not send.

        Args:
            write_key: the write key in the request.
            is_local: whether this machine sent it, and is trusted.
            origin: the `Origin` header, which browsers set.
        """
        if not self.declared:
            return self.local if is_local else None
        digest = sha256((write_key or "").encode()).hexdigest()
        found = [
            source
            for source in self.declared
            if any(compare_digest(each, digest) for each in source.key_sha256)
        ]
        allowed = (source for source in found if not (origin and source.origins) or origin in source.origins)
        return next(allowed, None)

    def acknowledged_by(self, place: Acknowledge) -> "Sources":
        """Copies with another `acknowledge`. Kafka excludes shedding; at-most-once sources stay unchanged."""
        if place is Acknowledge.LOG:
            more: dict[str, object] = {"acknowledge": place}
        else:
            more = {"acknowledge": place, "overload": Overload.REFUSE}
        return Sources(
            [
                each if each.delivery is Semantics.AT_MOST_ONCE else each.model_copy(update=more)
                for each in self.declared
            ],
            self.local.model_copy(update=more),
            self.placeholders,
        )

    @property
    def signed_prefixes(self) -> tuple[str, ...]:
        """The beginnings of the UIDs of webhooks and streams, which senders with a write key may not use."""
        return tuple(f"{source.name}:" for source in self.declared if not source.key_sha256)

    @property
    def has_protected(self) -> bool:
        """Whether any source is protected."""
        return any(source.protected for source in self.declared)

    def named(self, name: str) -> Source | None:
        """The source with that name; None if there is none."""
        return next((source for source in (*self.declared, self.local) if source.name == name), None)


def load_sources(conf: Path) -> Sources:
    """Read conf/sources.yml; no sources if there is no file.

    Raises:
        MillraceError: if an entry is not valid, or conf/identities.yml.
    """
    document = read_private_yaml(conf / FILE, "docs/collect.md has an example") or {}
    found = document.get("sources") or [] if isinstance(document, dict) else document
    entries = found if isinstance(found, list) else [found]
    sources = tuple(_source(entry) for entry in entries)
    names = [source.name for source in sources]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise MillraceError(f"conf/{FILE} has {twice[0]} twice", "Give one entry several key_sha256")
    return Sources(sources, placeholders=load_placeholders(conf))


def _source(entry: object) -> Source:
    try:
        return Source.model_validate(entry)
    except ValidationError as error:
        which = f"source {entry.get('name')!r}" if isinstance(entry, dict) else "an entry"
        raise MillraceError(
            f"conf/{FILE}: {which} {first_problem(error)}",
            "Give each a name and key_sha256, the SHA-256 of its write key: docs/collect.md."
            " Or webhook, or pull: docs/webhooks.md, docs/pull.md",
        ) from None
