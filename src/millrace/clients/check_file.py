"""Parses a file of events without sending it, for `millrace load --check`."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

from folds.persons.models import DIRECT
from folds.records.outcomes import Event, Rejection
from folds.records.outcomes import Record as Received
from folds.records.parse import parse
from folds.records.parse_rules import ParseRules, load_parse_rules
from folds.records.roles import OTHER
from folds.visitors.events import PAGE_VIEW
from lakehouse.settings import Settings
from millrace.clients.data_gaps import DataGaps, Gap
from millrace.clients.formats import Format, open_format, require_format
from millrace.clients.line_reader import Source
from millrace.clients.progress import progress_bar
from millrace.clients.recognize import SEGMENT
from millrace.clients.record import Record
from millrace.shutdown_signal import ShutdownSignal

_TOO_LONG = 1_000_000
"""Maximum bytes of a record: by default, topics refuse larger ones."""


class Unreadable:
    """Counts the lines that a format cannot read, by reason, with the first line of each."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self.first: dict[str, int] = {}

    def add(self, line: int, reason: str, content: bytes) -> None:
        """Count a line."""
        del content
        self.reasons[reason] += 1
        self.first.setdefault(reason, line)


@dataclass
class FileCheck:
    """Counts of the events that a file would produce.

    Attributes:
        taken_for: what the file was recognised as; None if its format was named.
        unreadable: number of lines that can't be read, by reason, with the first line of each.
        events: number of distinct events.
        copies: records with the UID of an earlier record.
        visitors: distinct visitors.
        roles: events by role.
        names: events by name, or by type if they have no name.
        unused: track events with role `other` by name, which need a rule to be used.
        goals: by goal and currency, the number of events and the sum of their values.
        channels: page views by channel, from campaign, click id or referrer; without Direct.
        rejected: records that silver would reject, by reason, with the first line of each.
        gaps: what the events lack, the costliest first.
        first, last: event times.
    """

    taken_for: str | None = None
    unreadable: Unreadable = field(default_factory=Unreadable)
    events: int = 0
    copies: int = 0
    visitors: int = 0
    roles: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)
    unused: Counter[str] = field(default_factory=Counter)
    goals: dict[tuple[str, str], tuple[int, Decimal]] = field(default_factory=dict)
    channels: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    rejected_first: dict[str, int] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    first: datetime | None = None
    last: datetime | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "taken_for": self.taken_for,
            "events": self.events,
            "copies": self.copies,
            "visitors": self.visitors,
            "first": self.first,
            "last": self.last,
            "roles": dict(self.roles.most_common()),
            "names": dict(self.names.most_common()),
            "goals": [
                {"goal": goal, "currency": currency or None, "events": count, "value": str(value)}
                for (goal, currency), (count, value) in sorted(self.goals.items())
            ],
            "channels": dict(self.channels.most_common()),
            "lacks": [gap.as_dict() for gap in self.gaps],
            "rejected": dict(self.rejected.most_common()),
            "unreadable_lines": dict(self.unreadable.reasons.most_common()),
        }


def check_file(settings: Settings, file: str, format_name: str, site: str | None) -> FileCheck:
    """Parse each line by the rules of conf/, without sending or writing anything.

    Args:
        settings: the settings in force.
        file: path, or `-` for standard input.
        format_name: a key of `millrace.clients.formats.FORMATS`, or `auto`.
        site: host of an access log's lines that name none; None: inferred from its first lines.

    Raises:
        MillraceError: if the file can't be read, or the format is not valid.
    """
    require_format(format_name)
    with ShutdownSignal().on_signals() as stop:
        source = Source(file, stop)
        try:
            form = open_format(format_name, source, settings.conf)
            check = _Checker(load_parse_rules(settings.conf), form)
            with progress_bar(f"Checking {source.name}", source.size) as bar:
                for record in form.reader(source.sample, site)(source, check.result.unreadable):
                    check.take(record)
                    bar(source.bytes_read, check.result.events)
                    if stop.requested:
                        break
        finally:
            source.close()
    return check.finish()


class _Checker:
    """Counts records of a file."""

    def __init__(self, rules: ParseRules, form: Format) -> None:
        self.result = FileCheck(taken_for=form.taken_for)
        self._rules = rules
        self._gaps = DataGaps(rules.roles, asks_consent=form.name == SEGMENT)
        self._seen: set[str] = set()
        self._visitors: set[str] = set()
        self._now = int(datetime.now(timezone.utc).timestamp() * 1e6)

    def take(self, record: Record) -> None:
        """Count a record."""
        check = self.result
        if len(record.value) > _TOO_LONG:
            check.unreadable.add(record.line, "larger than the topic takes", record.value)
            return
        outcome = parse(Received(record.value, self._now), self._rules)
        if isinstance(outcome, Rejection):
            check.rejected[outcome.reason] += 1
            check.rejected_first.setdefault(outcome.reason, record.line)
        elif isinstance(outcome, Event):
            if outcome.event_id in self._seen:
                check.copies += 1
                return
            self._seen.add(outcome.event_id)
            self._visitors.add(outcome.visitor_id)
            _count(check, outcome)
        self._gaps.add(record.value, outcome, record.line)

    def finish(self) -> FileCheck:
        """The counts of all records."""
        self.result.visitors = len(self._visitors)
        self.result.gaps = self._gaps.found()
        return self.result


def _count(check: FileCheck, event: Event) -> None:
    name = event.name or event.type
    check.events += 1
    check.roles[event.role] += 1
    check.names[name] += 1
    if event.role == OTHER and event.type == "track":
        check.unused[name] += 1
    if event.goal:
        key = (event.goal, event.currency or "")
        count, value = check.goals.get(key, (0, Decimal()))
        check.goals[key] = (count + 1, value + (event.value or Decimal()))
    if event.role == PAGE_VIEW and event.channel != DIRECT:
        check.channels[event.channel] += 1
    at = datetime.fromtimestamp(event.event_time / 1e6, timezone.utc)
    check.first = at if check.first is None else min(at, check.first)
    check.last = at if check.last is None else max(at, check.last)
