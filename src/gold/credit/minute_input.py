"""Inputs of minutes: the affected cells of a micro-batch, and their conversions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from folds.persons.records import ConversionRow
from folds.visitors.spans import MINUTE, Span, is_within, minute_of
from gold.credit.affected_conversions import find_conversions
from gold.credit.area import Area
from gold.credit.dimensions import Dimensions
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.driver_or_spark import Rows
from lakehouse.rows.time_pruner import TimePruner

QUARTER = 15 * MINUTE
ChangedConversions = Sequence[tuple[ConversionRow, bool]]
"""New and changed conversions as they are now, deleted ones as published; each with whether it is deleted."""


@dataclass(frozen=True)
class MinuteInput:
    """Inputs of the minutes of a micro-batch.

    Args:
        area: time spans in which all events of a visitor are read.
        spots: by visitor_id, whole minutes outside the area in which only conversions may have changed.
        conversions: current conversions in the area and the spots, and remaining refunds of new bots.
        new_bots: visitor_id of new bots, which lose all their minutes but those refunds.
        minutes: counts of events in the area, computed by `gold.credit.visit_fold`.
        has_rates: whether there are new exchange rates.
        quarters: starts of the quarter-hours in which anything may have changed. Shorter spans would be too
            many; longer ones would not fit time zones in which days begin at a quarter-hour.
    """

    area: Area
    spots: Mapping[str, Sequence[Span]]
    conversions: Sequence[ConversionRow]
    new_bots: frozenset[str]
    minutes: Rows
    has_rates: bool
    quarters: frozenset[int]


def minute_input(
    lake: Lakehouse,
    area: Area,
    before: Sequence[ConversionRow],
    changed: ChangedConversions,
    minutes: Rows,
    dimensions: Dimensions,
) -> MinuteInput:
    """Find the cells that a micro-batch affects.

    Args:
        lake: the tables, with gold.conversions not updated yet.
        area: the area of the micro-batch.
        before: published rows of affected conversions, which include all conversions in the area.
        changed: conversions that differ from their published rows.
        minutes: counts of events in the area.
        dimensions: the dimensions of the micro-batch.
    """
    replaced = {row.conversion_id for row, _ in changed}
    concerned = [row for row, _ in changed] + [row for row in before if row.conversion_id in replaced]
    others = [
        (row.visitor_id, row.converted_at) for row in concerned if row.visitor_id not in dimensions.new_bots
    ]
    spots = _spots(others, area)
    known = {row.conversion_id: row for row in (*before, *_conversions_at(lake, spots))}
    current = [row for name, row in known.items() if name not in replaced]
    current += [row for row, is_deleted in changed if not is_deleted]
    inside = [
        row
        for row in current
        if row.visitor_id in dimensions.new_bots  # a refund: a bot's other conversions are deleted
        or area.contains(row.visitor_id, row.converted_at)
        or is_within(row.converted_at, spots.get(row.visitor_id, ()))
    ]
    times = [row.converted_at for row in (*before, *concerned)]
    return MinuteInput(
        area,
        spots,
        inside,
        dimensions.new_bots,
        minutes,
        bool(dimensions.new_rates),
        frozenset(_quarters(area, times)),
    )


def quarter_of(at: int) -> int:
    """Start of the quarter-hour that contains a time."""
    return at - at % QUARTER


def _spots(moments: Iterable[tuple[str, int]], area: Area) -> dict[str, list[Span]]:
    """By visitor, the minutes of the times that are outside the area."""
    found: dict[str, set[Span]] = defaultdict(set)
    for visitor, at in moments:
        if not area.contains(visitor, at):
            found[visitor].add((minute_of(at), minute_of(at) + MINUTE))
    return {visitor: sorted(spans) for visitor, spans in found.items()}


def _conversions_at(lake: Lakehouse, spots: Mapping[str, Sequence[Span]]) -> list[ConversionRow]:
    if not spots:
        return []
    pruner = TimePruner.of_spans((low, high - 1) for spans in spots.values() for low, high in spans)
    return find_conversions(lake, pruner, ("visitor_id", spots))


def _quarters(area: Area, times: Iterable[int]) -> set[int]:
    found = {quarter_of(at) for at in times}
    for spans in area.spans.values():
        for low, high in spans:
            found.update(range(quarter_of(low), high, QUARTER))
    return found
