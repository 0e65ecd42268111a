"""Definitions that rebuild the tables of gold from silver."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.persons.fold import PersonRules
from folds.persons.records import Goal
from folds.persons.refunds import load_order_rules
from folds.visitors.rules import VisitorRules
from gold.cohorts.persons import Persons
from gold.credit.bot_refunds import all_bot_refunds
from gold.credit.credit_changes import is_page_view
from gold.credit.credit_fold import PAGE_COLUMNS, credit
from gold.credit.dimensions import DimensionLoader, Dimensions
from gold.credit.minutes import all_minute_changes
from gold.credit.persons import all_spans, with_own_views, with_person
from gold.credit.visit_fold import GOAL, MINUTE, all_visits
from gold.daily.day_rules import DayRules
from gold.daily.update import QUERIES, Daily
from gold.gate.gate_view import pin_for_rebuild
from gold.items.conversion_items import ConversionItems
from gold.orders.order_comparisons import OrderComparisons
from gold.publish import PublishRules
from gold.timeline.visitor_timeline import VisitorTimeline
from gold.traffic.traffic_progress import last_sequence
from gold.traffic.windows import Traffic
from lakehouse.contracts import Table
from lakehouse.contracts.cohorts import PERSONS
from lakehouse.contracts.gold import ATTRIBUTION, BOT_REFUNDS, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.lineage import first_writers
from lakehouse.contracts.orders import ORDER_COMPARISONS
from lakehouse.contracts.silver import EVENTS, IDENTITIES, SESSIONS
from lakehouse.contracts.timeline import VISITOR_TIMELINE
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import MAX_ROWS_PER_FILE, checkpoint, range_partition
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.run.rebuild import TableDefinition
from lakehouse.run.rules_version import rules_version
from lakehouse.timestamps import EPOCH, to_micros


@dataclass(frozen=True)
class _History:
    """Visits and credit of all approved rows of silver, each computed once.

    Two are equal if they are computed from the same rows by the same rules.

    Args:
        versions: of the tables of silver that `lake` is pinned to.
        watermark: the watermark of publish.
        rules_version: of the rules in force.
        lake: the tables.
        dimensions: of these versions.
        visitor_rules: rules of visits.
        person_rules: rules of credit.
    """

    versions: tuple[int, ...]
    watermark: datetime
    rules_version: str
    lake: Lakehouse = field(compare=False)
    dimensions: Dimensions = field(compare=False)
    visitor_rules: VisitorRules = field(compare=False)
    person_rules: PersonRules = field(compare=False)

    @cached_property
    def visits(self) -> DataFrame:
        """Touches, goals and minutes."""
        sessions, events = (
            self.dimensions.people(self.lake.read(table.name)) for table in (SESSIONS, EVENTS)
        )
        consents, defaults = self.dimensions.consents, self.dimensions.defaults
        return checkpoint(all_visits(sessions, events, consents, self.visitor_rules, defaults))

    @cached_property
    def bot_refunds(self) -> DataFrame:
        """Refunds and cancellations of bots, as goals of nobody."""
        orders = self.person_rules.orders
        return checkpoint(all_bot_refunds(self.lake, self.dimensions, orders, self.visitor_rules))

    @cached_property
    def credit(self) -> DataFrame:
        """Conversions, attribution and trails."""
        identities = self.lake.read(IDENTITIES.name)
        goals = with_person(rows_of_kind(self.visits, GOAL), identities, "converted_at")
        goals = goals.withColumn("is_published", F.lit(False)).select(*Goal._fields)
        touches = with_person(rows_of_kind(self.visits, TOUCHES.short_name), identities, "touched_at")
        touches = with_own_views(touches, all_spans(identities, touches))
        views = self.dimensions.people(self.lake.read(EVENTS.name).where(is_page_view()))
        views = self.dimensions.credited(views)
        pages = views.select(*PAGE_COLUMNS).join(
            goals.select("visitor_id", "person_id").distinct(), "visitor_id"
        )
        rows = credit(
            goals.unionByName(self.bot_refunds),
            self.dimensions.rates,
            touches,
            pages,
            to_micros(self.watermark),
            self.person_rules,
        )
        return checkpoint(rows)


class RebuildInputs:
    """All rows of gold, computed from what publish has processed of silver; see `pin_for_rebuild`.

    Args:
        run: the context of the rebuild. Its tables share visits and credit, unless silver or the rules change
            in between.
    """

    def __init__(self, run: JobContext) -> None:
        self._settings = run.settings
        self._lake = Lakehouse(run.spark, run.settings, "publish")
        pin_for_rebuild(run, self._lake)
        last = Ledger(run.lake).last("publish")
        self._upto: datetime = last.position if last else EPOCH
        self._watermark: datetime = (last.watermark if last else None) or EPOCH
        loader = DimensionLoader(self._lake)
        self._dimensions: Dimensions = loader.load_all(self._watermark)
        self._orders = load_order_rules(run.settings.conf)
        self._history = run.reuse(self._new_history(run))

    def _new_history(self, run: JobContext) -> _History:
        conf = run.settings.conf
        rules = PublishRules.load(conf)
        return _History(
            versions=tuple(self._lake.version(name) for name in first_writers("silver")),
            watermark=self._watermark,
            rules_version=rules_version(conf),
            lake=self._lake,
            dimensions=self._dimensions,
            visitor_rules=rules.of_visitors(),
            person_rules=rules.of_persons(self._settings.reporting_currency),
        )

    def touches(self) -> DataFrame:
        """Rows of gold.touches."""
        return rows_of_kind(self._history.visits, TOUCHES.short_name).select(*TOUCHES.column_names)

    def bot_refunds(self) -> DataFrame:
        """Rows of gold.bot_refunds."""
        return self._history.bot_refunds.select(*BOT_REFUNDS.column_names)

    def credit(self, table: Table) -> DataFrame:
        """Rows of gold.conversions, gold.attribution or gold.trails."""
        return rows_of_kind(self._history.credit, table.short_name)

    def items(self) -> DataFrame:
        """Rows of gold.conversion_items."""
        return ConversionItems(self._lake).all_rows()

    def order_comparisons(self) -> DataFrame:
        """Rows of gold.order_comparisons."""
        zone = self._settings.business_time_zone
        return OrderComparisons(self._lake, zone, self._orders.orders).all_rows()

    def persons(self) -> DataFrame:
        """Rows of gold.persons."""
        return Persons(self._lake, self._settings.business_time_zone).all_rows(self._dimensions)

    def timeline(self) -> DataFrame:
        """Rows of gold.visitor_timeline."""
        return VisitorTimeline(self._lake).all_rows()

    def minutes(self) -> DataFrame:
        """Differences to append to gold.visitor_minutes, so that its sums match silver."""
        minutes = rows_of_kind(self._history.visits, MINUTE)
        return all_minute_changes(self._lake, minutes, self.credit(CONVERSIONS))

    def put_minutes(self, rows: DataFrame) -> None:
        """Append differences to gold.visitor_minutes, and update traffic."""
        self.append_minutes(rows)
        self._traffic().update(self._upto, self._watermark)

    def append_minutes(self, rows: DataFrame) -> None:
        """Append differences to gold.visitor_minutes, range-partitioned by time for lookups."""
        sequence = last_sequence(self._lake) + 1
        stamped = checkpoint(rows.withColumn("sequence", F.lit(sequence).cast("bigint")))
        if not stamped.isEmpty():
            by_time = range_partition(stamped, str(VISITOR_MINUTES.event_time), MAX_ROWS_PER_FILE)
            self._lake.append(VISITOR_MINUTES.name, by_time, self._upto, sequence=sequence)

    def windows(self) -> DataFrame:
        """All windows of gold.traffic, as differences from an empty table."""
        return self._traffic().differences(self._watermark)

    def put_windows(self, windows: DataFrame) -> None:
        """Replace the windows."""
        self._traffic().replace(windows, self._upto, self._watermark)

    def daily(self, table: str) -> DataFrame:
        """Rows of a daily table."""
        daily = Daily(self._lake, self._settings.business_time_zone)
        return daily.compute(table, self._dimensions, DayRules.load(self._settings.conf))

    def _traffic(self) -> Traffic:
        return Traffic(self._lake, self._settings.business_time_zone, self._settings.conf)


def _computed(part: Callable[[RebuildInputs], DataFrame]) -> Callable[[JobContext], DataFrame]:
    return lambda run: part(RebuildInputs(run))


def _credit(table: Table) -> Callable[[JobContext], DataFrame]:
    return _computed(partial(RebuildInputs.credit, table=table))


def _daily(table: str) -> TableDefinition:
    return TableDefinition(_computed(partial(RebuildInputs.daily, table=table)))


DEFINITIONS = {
    TOUCHES.name: TableDefinition(_computed(RebuildInputs.touches)),
    BOT_REFUNDS.name: TableDefinition(_computed(RebuildInputs.bot_refunds)),
    ATTRIBUTION.name: TableDefinition(_credit(ATTRIBUTION)),
    TRAILS.name: TableDefinition(_credit(TRAILS)),
    CONVERSIONS.name: TableDefinition(_credit(CONVERSIONS)),
    CONVERSION_ITEMS.name: TableDefinition(_computed(RebuildInputs.items)),
    ORDER_COMPARISONS.name: TableDefinition(_computed(RebuildInputs.order_comparisons)),
    PERSONS.name: TableDefinition(_computed(RebuildInputs.persons)),
    VISITOR_TIMELINE.name: TableDefinition(_computed(RebuildInputs.timeline)),
    VISITOR_MINUTES.name: TableDefinition(
        _computed(RebuildInputs.minutes),
        write=lambda run, rows: RebuildInputs(run).put_minutes(rows),
        side_outputs=(TRAFFIC.name,),
    ),
    TRAFFIC.name: TableDefinition(
        _computed(RebuildInputs.windows), write=lambda run, rows: RebuildInputs(run).put_windows(rows)
    ),
    **{name: _daily(name) for name in QUERIES},
}
"""The tables of gold, each after those that it is computed from."""
