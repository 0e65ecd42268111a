"""The fold over persons, run over groups of goals: changes of conversions, attribution and trails."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from folds.persons.fold import PersonRules, fold_person
from folds.persons.groups import GoalGroups
from folds.persons.records import Goal, Impression, PageView, Touch, View, Visit
from gold.credit.affected_conversions import AffectedConversions
from gold.credit.dimensions import Dimensions
from gold.credit.trail_changes import trail_changes
from gold.credit.visit_pages import visit_pages
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.contracts.table import Table
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.write_changes import as_tuples, change_type
from lakehouse.rows.driver_or_spark import KEY, Rows, Source, local_rows, with_columns_of
from lakehouse.rows.grouped import GroupedRows, Groups, batch_of_kind
from lakehouse.rows.row_changes import RowChange, RowDiff
from lakehouse.rows.time_pruner import TimePruner

TABLES = (CONVERSIONS, ATTRIBUTION, TRAILS)
RESULT = pa.schema([pa.field(table.short_name, change_type(table)) for table in TABLES])
_NESTED = {"impression": Impression, "view": View}
_PORTION = 50_000  # changes of a table per Arrow batch; all changes of one `add` stay together
_GROUP = pa.field(KEY, pa.string())
_PERSON = pa.field("person_id", pa.string())
_TOUCH = list(arrow_schema(TOUCHES))
_CONVERSION = list(arrow_schema(CONVERSIONS))
_GOAL = [
    *(next(field for field in _CONVERSION if field.name == name) for name in Goal._fields[:-1]),
    pa.field("is_published", pa.bool_()),
]


@dataclass(frozen=True)
class CreditInput:
    """Inputs of credit.

    Args:
        affected: the affected conversions.
        touch_changes: touches that the micro-batch inserts or changes (False), or deletes (True).
        stored: conversion_id -> times, in microseconds, of conversions that may have stored rows.
    """

    affected: AffectedConversions
    touch_changes: list[tuple[Touch, bool]]
    stored: Mapping[str, list[int]]


def credit_changes(
    source: Source, given: CreditInput, dimensions: Dimensions, rules: PersonRules
) -> Groups | None:
    """Changes of conversions, attribution and trails.

    Returns:
        A struct of `change_type` for each table, not computed yet; None if no conversion is affected.
    """
    affected = given.affected
    if not affected.goals and not affected.before:
        return None
    groups = GoalGroups([*affected.goals, *map(_unnamed, affected.before)])
    visitors = dimensions.visitors_of({goal.person_id for goal in affected.goals if goal.person_id})
    kinds: dict[str, Rows] = {
        "goal": local_rows([_GROUP, *_GOAL], _goal_rows(affected.goals, groups)),
        "change": local_rows(*_change_rows(given.touch_changes, visitors, groups)),
        "before": local_rows(
            [_GROUP, *_CONVERSION],
            [(groups.of_conversion(row.conversion_id), *row) for row in affected.before],
        ),
    }
    if (pages := visit_pages(source, affected.goals, groups)) is not None:
        kinds["page"] = pages
    if visitors:
        kinds["touch"] = _touches(source, affected.goals, visitors, groups, rules)
    if given.stored:
        kinds |= {
            table.short_name: _stored(source, table, given.stored, groups) for table in (ATTRIBUTION, TRAILS)
        }
    return Groups(kinds, _CreditFold(dimensions.watermark, rules), RESULT)


class _CreditFold:
    """The fold over persons, run by workers.

    Args:
        watermark: the watermark, in microseconds.
        rules: the rules of the fold.
    """

    def __init__(self, watermark: int, rules: PersonRules) -> None:
        self._watermark = watermark
        self._rules = rules

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        goals = groups.rows("goal", Goal, visit=Visit)
        touches, pages = _touches_by_person(groups), groups.rows("page", PageView)
        before = groups.rows("before", tuple, visit=Visit)
        credited, walked = (groups.rows(each.short_name, tuple) for each in (ATTRIBUTION, TRAILS))
        conversions, attribution, trails = (_Portions(each.short_name) for each in TABLES)
        for group in groups.group_keys():
            mine = goals.get(group, ()), touches.get(group, {}), pages.get(group, ())
            now = fold_person(*mine, self._watermark, self._rules)
            yield from conversions.add(RowDiff(CONVERSIONS).compare(before.get(group, ()), now.conversions))
            yield from attribution.add(RowDiff(ATTRIBUTION).compare(credited.get(group, ()), now.attribution))
            for changes in trail_changes(walked.get(group, ()), now.trails):
                yield from trails.add(changes)
        for each in (conversions, attribution, trails):
            yield from each.rest()


class _Portions:
    """Collects changes of one table into Arrow batches.

    Args:
        name: the table's field in `RESULT`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._rows: list[tuple[object, ...]] = []

    def add(self, changes: Iterable[RowChange]) -> list[pa.RecordBatch]:
        """Add changes; return a batch if there are enough for one."""
        self._rows += as_tuples(changes)
        return self.rest() if len(self._rows) >= _PORTION else []

    def rest(self) -> list[pa.RecordBatch]:
        """Return the remaining changes: one batch, or none."""
        rows, self._rows = self._rows, []
        return [batch_of_kind(RESULT, self._name, rows)] if rows else []


def _touches_by_person(groups: GroupedRows) -> dict[str, dict[str, list[Touch]]]:
    """Published touches by group and person, with the changes of the micro-batch applied."""
    known = groups.rows("touch", _stored_touch, **_NESTED)
    changed = groups.rows("change", _of_person, **_NESTED)
    found: dict[str, dict[str, list[Touch]]] = {}
    for group in known.keys() | changed.keys():
        current = {touch.touch_id: (person, touch) for person, _, touch in known.get(group, ())}
        for person, is_deleted, touch in changed.get(group, ()):
            current[touch.touch_id] = (person, touch)
            if is_deleted:
                del current[touch.touch_id]
        of_person: dict[str, list[Touch]] = {}
        for person, touch in current.values():
            of_person.setdefault(person, []).append(touch)
        found[group] = of_person
    return found


def _stored_touch(person_id: str, *touch: Any) -> tuple[str, bool, Touch]:
    return person_id, False, Touch(*touch)


def _of_person(person_id: str, is_deleted: bool, *touch: Any) -> tuple[str, bool, Touch]:
    return person_id, is_deleted, Touch(*touch)


def _unnamed(row: Any) -> Goal:
    return Goal(**{name: getattr(row, name) for name in Goal._fields if name != "is_published"})


def _goal_rows(goals: Iterable[Goal], groups: GoalGroups) -> list[tuple[Any, ...]]:
    return [(groups.of_conversion(goal.conversion_id), *goal) for goal in goals]


def _change_rows(
    changes: Iterable[tuple[Touch, bool]], visitors: Mapping[str, str], groups: GoalGroups
) -> tuple[list[pa.Field], list[tuple[Any, ...]]]:
    fields = [_GROUP, _PERSON, pa.field("is_deleted", pa.bool_()), *_TOUCH]
    rows = [
        (groups.of_person(person), person, is_deleted, *touch)
        for touch, is_deleted in changes
        if (person := visitors.get(touch.visitor_id)) is not None
    ]
    return fields, rows


def _touches(
    source: Source,
    goals: Iterable[Goal],
    visitors: Mapping[str, str],
    groups: GoalGroups,
    rules: PersonRules,
) -> Rows:
    """Published touches of all affected persons within the look-back of any goal."""
    spans = ((goal.converted_at - rules.look_back, goal.converted_at) for goal in goals)
    columns, near = TOUCHES.column_names, TimePruner.of_spans(spans)
    touches = source.look_up(TOUCHES.name, Lookup(columns, near, "touched_at", key=("visitor_id", visitors)))
    rows = [(visitor, groups.of_person(person), person) for visitor, person in visitors.items()]
    of_visitor = local_rows([pa.field("visitor_id", pa.string()), _GROUP, _PERSON], rows)
    return with_columns_of(touches, "visitor_id", of_visitor, (KEY, "person_id", *columns))


def _stored(source: Source, table: Table, stored: Mapping[str, list[int]], groups: GoalGroups) -> Rows:
    """Published rows of affected conversions."""
    then = TimePruner.of_spans((at, at) for times in stored.values() for at in times)
    wanted = Lookup(table.column_names, then, "converted_at", key=("conversion_id", stored))
    rows = [(conversion, groups.of_conversion(conversion)) for conversion in stored]
    of_conversion = local_rows([pa.field("conversion_id", pa.string()), _GROUP], rows)
    found = source.look_up(table.name, wanted)
    return with_columns_of(found, "conversion_id", of_conversion, (KEY, *table.column_names))
