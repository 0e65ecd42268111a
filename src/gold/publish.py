"""A micro-batch of the publish job: from changes of silver to changes of gold."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.fold import PersonRules
from folds.persons.refunds import OrderRules, load_order_rules
from folds.records.channels import load_channel_rules
from folds.records.dimension_rules import load_dimension_rules
from folds.records.sites import Sites
from folds.rule_numbers import RuleNumbers, load_rule_numbers
from folds.visitors.rules import VisitorRules
from gold.credit.affected_conversions import AffectedConversions, Changes, find_affected
from gold.credit.area import Area, NewMoments, load_area, new_moments
from gold.credit.bot_refunds import new_bot_refunds, no_bot_refunds
from gold.credit.credit_changes import credit_changes
from gold.credit.credit_fold import TABLES
from gold.credit.dimensions import DimensionLoader, Dimensions
from gold.credit.minutes import minute_changes
from gold.credit.visit_fold import GOAL, MINUTE, visit_changes
from gold.daily.summary_schedule import SummarySchedule
from gold.traffic.traffic_progress import last_sequence
from lakehouse.contracts import Table
from lakehouse.contracts.gold import ATTRIBUTION, BOT_REFUNDS, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import OLD_TIME, Extent, checkpoint_changes, write_kind
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.rows.time_pruner import TimePruner, hours_between
from lakehouse.run.batch_source import Batch
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.run.microbatch import Outcome
from lakehouse.timestamps import EPOCH, to_micros


@dataclass(frozen=True)
class PublishRules:
    """Rules of the publish job.

    Args:
        numbers: from conf/rules.yml.
        orders: which goals reverse an order.
        own_hosts: the site's own hosts, from conf/channels.yml.
        of_sessions: custom dimensions of level `session`, from conf/dimensions.yml.
        person_level: those of level `person`.
    """

    numbers: RuleNumbers
    orders: OrderRules
    own_hosts: Sites
    of_sessions: frozenset[str]
    person_level: frozenset[str]

    @classmethod
    def load(cls, conf: Path) -> "PublishRules":
        """Read conf/."""
        own_hosts, dimensions = load_channel_rules(conf).own, load_dimension_rules(conf)
        levels = dimensions.of_sessions, dimensions.of_persons
        return cls(load_rule_numbers(conf), load_order_rules(conf), own_hosts, *levels)

    def of_visitors(self) -> VisitorRules:
        """The rules of the fold over visitors."""
        return VisitorRules.of(self.numbers, self.orders.refunds, self.own_hosts, self.of_sessions)

    def of_persons(self, currency: str) -> PersonRules:
        """The rules of the fold over persons; exchange rates are rows of its input."""
        rates = ExchangeRates((), currency)
        return PersonRules.of(self.numbers, rates, self.orders, self.person_level)


class Publish:
    """Updates gold from silver.

    Recomputes the time spans and conversions that a micro-batch affects, and writes the rows that differ.
    What is affected follows from the batch and from gold.touches, which is written last, so a repeated batch
    gives the same tables. Rows of bots are left out, and deleted when a bot is found. Tables by window and by
    day, and items, are updated less often, see `SummarySchedule`.

    Args:
        run: the job's context.
        rules: returns the rules, called for each micro-batch.
    """

    def __init__(self, run: JobContext, rules: Callable[[], PublishRules]) -> None:
        self._run = run
        self._rules = rules
        self._dimensions = DimensionLoader(run.lake)
        self._summaries = SummarySchedule(run)
        if last := Ledger(run.lake).last(run.job):
            self._summaries.mark_stale(last.position, last.watermark or EPOCH, last.heard or EPOCH)

    def __call__(self, batch: Batch) -> Outcome:
        """Publish what the events, bots and rates of one micro-batch affect, late events included."""
        round_ = Round(self._run, batch, self._dimensions.load(batch), self._rules())
        moments = new_moments(self._run.lake, batch, round_.dimensions, round_.rules.orders)
        rows = round_.publish(moments)
        watermark = batch.upstream_watermark or EPOCH
        self._summaries.mark_stale(batch.upto, watermark, batch.side_input_upto)
        if not self._run.once:  # else in `run_idle`, after the last batch
            self._summaries.update(under_load=True)
        return Outcome(output_rows=rows, watermark=batch.upstream_watermark)

    def run_idle(self) -> None:
        """Update summaries. Called when there is no batch."""
        self._summaries.update(now=self._run.once)

    def end(self) -> None:
        """Wait for summaries that are being updated."""
        self._summaries.finish()


@dataclass(frozen=True)
class Round:
    """One micro-batch, or an erasure.

    Args:
        run: the job's context.
        batch: the batch.
        dimensions: of the batch.
        rules: the rules in force.
        gone: event_id of goal events that are no longer in silver; None if there are none.
    """

    run: JobContext
    batch: Batch
    dimensions: Dimensions
    rules: PublishRules
    gone: DataFrame | None = None

    @property
    def lake(self) -> Lakehouse:
        """The tables."""
        return self.run.lake

    def publish(self, moments: NewMoments) -> int:
        """Write the changes that follow from some moments; return the number of rows written.

        Args:
            moments: times around which visits and conversions are recomputed.
        """
        visitor_rules = self.rules.of_visitors()
        person_rules = self.rules.of_persons(self.run.settings.reporting_currency)
        area = load_area(self.lake, moments, self.dimensions, self.rules.numbers)
        at, look_back = F.unix_micros(f"{TOUCHES.short_name}.touched_at"), person_rules.look_back
        folded = visit_changes(self.lake, area, self.dimensions, visitor_rules)
        led = hours_between(at, at + look_back)
        visits, of_touches, found = checkpoint_changes(folded, (TOUCHES,), led=led)
        touches = rows_of_kind(visits, TOUCHES.short_name)
        new = Changes(
            area=area,
            goals=rows_of_kind(visits, GOAL),
            bot_refunds=self._bot_refunds(moments, visitor_rules),
            touched=touches.select("visitor_id", "touched_at"),
            touched_near=TimePruner.of_hours(found["led"]),
            dimensions=self.dimensions,
            look_back=look_back,
            orders=self.rules.orders,
            gone=self.gone,
        )
        affected = find_affected(self.lake, new)
        computed = credit_changes(self.lake, affected, touches, self.dimensions, person_rules)
        now = F.unix_micros(f"{CONVERSIONS.short_name}.converted_at")
        changes, extents, found = checkpoint_changes(computed, TABLES, converted=hours_between(now, now))
        converted = TimePruner.of_hours([*found["converted"], *extents[CONVERSIONS.name].hours])
        minutes = partial(self._write_minutes, area, visits, affected.before, changes, converted)
        return self._write(visits, affected, changes, {**extents, **of_touches}, minutes)

    def _bot_refunds(self, moments: NewMoments, rules: VisitorRules) -> DataFrame:
        """Refunds and cancellations that bots sent in this micro-batch."""
        if not moments.has_reversals:
            return no_bot_refunds(self.lake)
        return new_bot_refunds(self.lake, self.batch, self.dimensions, self.rules.orders, rules)

    def _write(
        self,
        visits: DataFrame,
        affected: AffectedConversions,
        changes: DataFrame,
        extents: dict[str, Extent],
        write_minutes: Callable[[], int],
    ) -> int:
        """Write the changes, gold.conversions and then gold.touches last."""
        first = (
            write_minutes,  # which takes longest
            partial(self._write_kind, changes, extents, ATTRIBUTION),
            partial(self._write_kind, changes, extents, TRAILS),
        )
        rows = sum(run_concurrently(first))
        if affected.bot_refunds:  # before their rows in gold.conversions are deleted
            refunds = affected.bot_refunds.select(*BOT_REFUNDS.column_names)
            self.lake.append(BOT_REFUNDS.name, refunds, self.batch.upto)
        rows += self._write_kind(changes, extents, CONVERSIONS)
        return rows + self._write_kind(visits, extents, TOUCHES)

    def _write_kind(self, changes: DataFrame, extents: dict[str, Extent], table: Table) -> int:
        heard = to_micros(self.batch.side_input_upto)
        return write_kind(self.lake, table, changes, extents, self.batch.upto, heard=heard)

    def _write_minutes(
        self,
        area: Area,
        visits: DataFrame,
        before: DataFrame,
        changes: DataFrame,
        converted: TimePruner,
    ) -> int:
        """Append the differences to gold.visitor_minutes; they do not count as rows written."""
        changed = rows_of_kind(changes, CONVERSIONS.short_name).drop(OLD_TIME)
        minutes = rows_of_kind(visits, MINUTE)
        differences = minute_changes(self.lake, area, minutes, before, changed, converted, self.dimensions)
        if self.gone is not None:  # an erasure makes no window late
            differences = differences.withColumn("by_events", F.lit(False))
        rows, found = checkpoint_with(differences, count=F.count(F.lit(1)))
        if found["count"]:
            sequence = last_sequence(self.lake) + 1
            stamped = rows.withColumn("sequence", F.lit(sequence).cast("bigint"))
            heard = to_micros(self.batch.side_input_upto)
            self.lake.append(VISITOR_MINUTES.name, stamped, self.batch.upto, sequence=sequence, heard=heard)
        return 0
