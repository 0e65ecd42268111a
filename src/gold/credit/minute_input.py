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
"""Conversions that change; the second says whether one goes."""


@dataclass(frozen=True)
class MinuteInput:
    """Inputs of the minutes of a micro-batch.

    Args:
        area: in which all of a visitor's events are known.
        spots: by visitor_id, whole minutes elsewhere of which conversions alone may be others.
        conversions: that are, in the area and the spots.
        new_bots: visitor_id of those whose minutes go, but for refunds that are left of them.
        minutes: what events come to in the area, as `gold.credit.visit_fold` gives it.
        has_rates: whether there are new rates.
        quarters: starts of the quarters of an hour in which anything may have changed. No shorter, so that
            they are few; no longer, since days of some time zones begin at a quarter.
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
        lake: the tables; gold.conversions as it was before.
        area: of the micro-batch.
        before: published rows of the conversions affected: all in the area are.
        changed: those of which something is another now.
        minutes: what events come to in the area.
        dimensions: of the micro-batch.
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
        if row.visitor_id in dimensions.new_bots  # a refund: all else of theirs goes
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
    """Minutes of visitors' events outside the area."""
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
