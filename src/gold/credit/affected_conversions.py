"""Affected conversions: those of which a micro-batch may change anything, and what they may be of."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.persons.exchange_rates import Rate
from folds.persons.records import ConversionRow, Goal, Visit
from gold.credit.area import Area
from gold.credit.dimensions import Dimensions
from gold.time_pruner import TimePruner
from lakehouse.arrow_frames import in_micros, to_frame, with_any_of
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.merging import GONE

_VISIT = CONVERSIONS.column_names.index("visit")


@dataclass(frozen=True)
class AffectedConversions:
    """Conversions to compute anew.

    Args:
        before: their published rows.
        goals: what they may be of now: goal events in the area, and published rows of people; with person_id.
    """

    before: list[ConversionRow]
    goals: list[Goal]


@dataclass(frozen=True)
class Changes:
    """What a micro-batch changes that conversions depend on.

    Args:
        area: where it changes anything.
        goals: goal events there.
        touched: visitor_id -> times of touches that came, went or are others now.
        dimensions: of the micro-batch.
        look_back: microseconds that a touch earns credit for.
    """

    area: Area
    goals: Sequence[Goal]
    touched: dict[str, list[int]]
    dimensions: Dimensions
    look_back: int


def find_affected(published: DataFrame, changes: Changes) -> AffectedConversions:
    """Find the conversions that may be others now.

    Those whose goal was reached; whose session may be another; whose person has other touches, or is another;
    of bots; whose rate came; and what shares an order with one of these.

    Args:
        published: gold.conversions.
        changes: of the micro-batch.
    """
    dimensions = changes.dimensions
    visitors = {goal.visitor_id for goal in changes.goals} | changes.touched.keys()
    persons = dimensions.persons_of(visitors)
    found = {row.conversion_id: row for row in _directly_affected(published, changes, persons)}
    rows: list[Goal | ConversionRow] = [*changes.goals, *found.values()]
    orders = {row.order_id for row in rows if row.order_id is not None}
    found |= {row.conversion_id: row for row in _of_orders(published, orders, found.keys())}
    people = [row for row in found.values() if row.visitor_id not in dimensions.bots]
    persons |= dimensions.persons_of({row.visitor_id for row in people} - persons.keys())
    goals = [*changes.goals, *map(_as_goal, people)]
    named = [goal._replace(person_id=persons[goal.visitor_id]) for goal in goals]
    return AffectedConversions(list(found.values()), named)


def read_conversions(rows: DataFrame) -> list[ConversionRow]:
    """Rows of gold.conversions on the driver."""
    return _rows(in_micros(rows.select(*CONVERSIONS.column_names).toArrow()))


def changed_conversions(changes: pa.Table) -> list[tuple[ConversionRow, bool]]:
    """Changes of gold.conversions on the driver, each with whether the row goes."""
    table = in_micros(changes)
    return list(zip(_rows(table), table[GONE].to_pylist(), strict=True))


def _rows(table: pa.Table) -> list[ConversionRow]:
    columns = [table[name].to_pylist() for name in CONVERSIONS.column_names]
    columns[_VISIT] = [None if visit is None else Visit(**visit) for visit in columns[_VISIT]]
    return [ConversionRow(*row) for row in zip(*columns, strict=True)]


def _directly_affected(
    published: DataFrame, changes: Changes, persons: dict[str, str]
) -> list[ConversionRow]:
    area, dimensions = changes.area, changes.dimensions
    touched = _times_by_person(changes.touched, persons)
    parts = [area.rows_in(published, "converted_at")] if area.spans else []
    if touched:
        spans = ((at, at + changes.look_back) for times in touched.values() for at in times)
        later = published.where(TimePruner.of_spans(spans).contains("converted_at"))
        parts.append(with_any_of(later, "person_id", touched))
    near = [
        row
        for row in _read_all(parts)
        if area.contains(row.visitor_id, row.converted_at)
        or _is_led_to(row.converted_at, touched.get(row.person_id, ()), changes.look_back)
    ]
    others = []
    if dimensions.renamed:
        ever = {user for users in dimensions.renamed.values() for user in users}
        others.append(with_any_of(published, "visitor_id", dimensions.renamed))
        others.append(with_any_of(published, "person_id", ever | dimensions.renamed.keys()))
    if dimensions.new_bots:
        others.append(with_any_of(published, "visitor_id", dimensions.new_bots))
    if dimensions.new_rates:
        others.append(_rated_by(published, dimensions.new_rates))
    return near + _read_all(others)


def _times_by_person(touched: dict[str, list[int]], persons: dict[str, str]) -> dict[str, list[int]]:
    times: dict[str, list[int]] = defaultdict(list)
    for visitor, theirs in touched.items():
        times[persons[visitor]] += theirs
    return {person: sorted(theirs) for person, theirs in times.items()}


def _is_led_to(converted_at: int, touched: Sequence[int], look_back: int) -> bool:
    """Whether one of some times, in order, lies in a conversion's look-back."""
    first = bisect_left(touched, converted_at - look_back)
    return first < len(touched) and touched[first] <= converted_at


def _read_all(parts: Iterable[DataFrame]) -> list[ConversionRow]:
    """The rows of several frames in one Spark job; some may be there twice."""
    frames = [part.select(*CONVERSIONS.column_names) for part in parts]
    if not frames:
        return []
    together = frames[0]
    for frame in frames[1:]:
        together = together.unionByName(frame)
    return read_conversions(together)


def _of_orders(published: DataFrame, orders: Collection[str], known: Collection[str]) -> list[ConversionRow]:
    """The conversions that share an order, but for those known.

    All of history is searched for orders, so few columns of it are read first.
    """
    if not orders:
        return []
    keys = published.select("order_id", "conversion_id", F.unix_micros("converted_at").alias("at"))
    shared = with_any_of(keys, "order_id", orders).toArrow().to_pylist()
    missing = {row["conversion_id"]: row["at"] for row in shared if row["conversion_id"] not in known}
    if not missing:
        return []
    then = TimePruner.of_spans((at, at) for at in missing.values()).contains("converted_at")
    return read_conversions(with_any_of(published.where(then), "conversion_id", missing))


def _rated_by(published: DataFrame, rates: Sequence[Rate]) -> DataFrame:
    """The conversions that one of some rates is valid for."""
    columns = {
        "_code": pa.array([rate.currency for rate in rates], pa.string()),
        "_from": pa.array([rate.valid_from for rate in rates], pa.int64()),
        "_to": pa.array([rate.valid_to for rate in rates], pa.int64()),
    }
    validity = to_frame(published.sparkSession, pa.table(columns))
    at = F.unix_micros("converted_at")
    is_valid = (F.upper("currency") == F.col("_code")) & (at >= F.col("_from"))
    is_valid &= F.col("_to").isNull() | (at < F.col("_to"))
    return published.join(F.broadcast(validity), is_valid, "left_semi")


def _as_goal(row: ConversionRow) -> Goal:
    fields = {name: getattr(row, name) for name in Goal._fields if name != "is_published"}
    return Goal(**fields, is_published=True)
