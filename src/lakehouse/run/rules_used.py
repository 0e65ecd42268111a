"""Finds the tables that have rows by other rules than the current ones."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from lakehouse.bundle_file import parse_yaml
from lakehouse.contracts import TABLES, Table
from lakehouse.contracts.rule_files import rules_of
from lakehouse.timestamps import FIRST, LAST

Texts = Mapping[str, str]
"""The rules of one version: by file name, its text."""


class Use(NamedTuple):
    """A version of the rules that jobs follow from a time on."""

    version: str
    since: datetime


class Rebuild(NamedTuple):
    """A rebuild of a table.

    Args:
        table: its name.
        version: of the rules that it was rebuilt by.
        after: the last use of rules, or rebuild, before it began.
        at: its end.
    """

    table: str
    version: str
    after: datetime
    at: datetime


@dataclass(frozen=True)
class RulesUsed:
    """The rules that rows were made by. Its times are in the order of writing, whatever the clock was.

    Args:
        texts: by version.
        uses: in order.
        rebuilds: in order.
    """

    texts: Mapping[str, Texts]
    uses: Sequence[Use] = ()
    rebuilds: Sequence[Rebuild] = ()

    def same_since(self, rules: Collection[str], current: Texts) -> datetime:
        """Since when jobs have followed some rules as they are now.

        Args:
            rules: files and numbers, as in `FOLLOWED_BY`.
            current: the files of conf/.

        Returns:
            `FIRST` if jobs never followed others; `LAST` if they do not follow these yet.
        """
        since = LAST
        for use in reversed(self.uses):
            if not self._is_current(use.version, rules, current):
                return since
            since = use.since
        return FIRST

    def rebuilt(self, table: str, since: datetime, current: Texts) -> datetime:
        """The end of a table's first rebuild by the current rules that began after a time, or `LAST`."""
        ends = (
            rebuild.at
            for rebuild in self.rebuilds
            if rebuild.table == table
            and rebuild.after >= since
            and self._is_current(rebuild.version, rules_of(table), current)
        )
        return min(ends, default=LAST)

    def _is_current(self, version: str, rules: Collection[str], current: Texts) -> bool:
        texts = self.texts.get(version, {})
        return all(_is_same(rule, texts, current) for rule in rules)


def rebuilt_tables() -> list[Table]:
    """The tables that can be rebuilt, each after those that it is computed from."""
    layers = ("silver", "gold")
    return [each for each in TABLES.values() if each.layer in layers and each.cadence != "schedule"]


def tables_of_other_rules(
    current: Texts, used: RulesUsed, created_at: Callable[[str], datetime]
) -> list[str]:
    """Tables with rows by other rules than the current ones, in the order to rebuild them.

    A rebuild counts if jobs had followed the current rules before it began, and if no table that this one is
    computed from has had rows by other rules since.

    Args:
        current: the files of conf/.
        used: the rules that rows were made by.
        created_at: returns when a table was created; `LAST` if it does not exist.
    """
    right_since: dict[str, datetime] = {}
    for table in rebuilt_tables():
        inputs = [right_since[name] for name in table.inputs if name in right_since]
        needed = max([used.same_since(rules_of(table.name), current), *inputs])
        if needed == FIRST or _is_created_since(table, needed, created_at):
            right_since[table.name] = FIRST
        else:
            right_since[table.name] = used.rebuilt(table.name, needed, current)
    return [name for name, since in right_since.items() if since == LAST]


def _is_created_since(table: Table, time: datetime, created_at: Callable[[str], datetime]) -> bool:
    """Whether a table was created after a time, and so were the rows that it is computed from."""
    return created_at(table.name) >= time and created_at(table.inputs[0]) >= time


def _is_same(rule: str, one: Texts, other: Texts) -> bool:
    file, _, number = rule.partition(":")
    texts = one.get(file, ""), other.get(file, "")
    if texts[0] == texts[1]:
        return True
    before, after = (_parsed(text, file) for text in texts)
    return bool(before.get(number) == after.get(number) if number else before == after)


@lru_cache(maxsize=64)
def _parsed(text: str, name: str) -> Mapping[str, Any]:
    return parse_yaml(text, name) or {}
