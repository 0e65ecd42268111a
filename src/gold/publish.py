"""A micro-batch of the publish job: from changes of silver to changes of gold."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from folds.persons.fold import PersonRules
from folds.persons.records import Touch
from folds.persons.refunds import OrderRules, load_order_rules
from folds.records.channels import load_channel_rules
from folds.records.sites import Sites
from folds.rule_numbers import RuleNumbers, load_rule_numbers
from folds.visitors.rules import VisitorRules
from gold.credit.affected_conversions import (
    AffectedConversions,
    Changes,
    changed_conversions,
    find_affected,
)
from gold.credit.area import Area, load_area, new_moments
from gold.credit.bot_refunds import new_bot_refunds, to_rows
from gold.credit.credit_fold import CreditInput, credit_changes
from gold.credit.dimensions import DimensionLoader, Dimensions
from gold.credit.minute_fold import minute_changes, quarter_marks
from gold.credit.minute_input import minute_input
from gold.credit.visit_fold import GOAL, MINUTE, goals_of, touch_changes, visit_changes
from gold.daily.summary_schedule import SummarySchedule
from lakehouse.contracts import TABLES
from lakehouse.contracts.gold import ATTRIBUTION, BOT_REFUNDS, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.write_changes import write_changes
from lakehouse.rows.driver_or_spark import Source, is_empty, union, with_number
from lakehouse.rows.grouped import Computed, Groups
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.run.microbatch import Batch, Outcome
from lakehouse.run.query_tuning import SMALL_BATCH_ROWS
from lakehouse.timestamps import EPOCH, to_micros


@dataclass(frozen=True)
class PublishRules:
    """Rules of the publish job.

    Args:
        numbers: from conf/rules.yml.
        orders: which goals reverse an order.
        own_hosts: the site's own hosts, from conf/channels.yml.
    """

    numbers: RuleNumbers
    orders: OrderRules
    own_hosts: Sites

    @classmethod
    def load(cls, conf: Path) -> "PublishRules":
        """Read conf/."""
        return cls(load_rule_numbers(conf), load_order_rules(conf), load_channel_rules(conf).own)


class Publish:
    """Updates gold from silver.

    Recomputes the time spans and conversions that a micro-batch affects, and writes the rows that differ.
    What is affected follows from the batch and from gold.touches, which is written last, so a repeated batch
    gives the same tables. Rows of bots are left out, and deleted when a bot is found. Tables by window and by
    day are updated less often, see `SummarySchedule`.

    Args:
        run: the job's context.
        rules: returns the rules, called for each micro-batch.
    """

    def __init__(self, run: JobContext, rules: Callable[[], PublishRules]) -> None:
        self._run = run
        self._rules = rules
        self._dimensions = DimensionLoader(run.lake, run.settings.reporting_currency)
        self._summaries = SummarySchedule(run)
        self._may_be_repeated = True
        if last := Ledger(run.lake).last(run.job):
            self._summaries.mark_stale(last.position, last.watermark or EPOCH)

    def __call__(self, batch: Batch) -> Outcome:
        """Publish what the events, bots and rates of one micro-batch affect, late events included."""
        round_ = _Round(self._run, batch, self._dimensions.load(batch), self._rules(), self._may_be_repeated)
        rows = round_.publish(self._summaries.done)
        self._may_be_repeated = False
        self._summaries.mark_stale(batch.upto, batch.upstream_watermark or EPOCH)
        if not self._run.once:  # else in `run_idle`, after the last batch
            self._summaries.update(under_load=True)
        return Outcome(output_rows=rows, watermark=batch.upstream_watermark)

    def run_idle(self) -> None:
        """Update summaries. Called when there is no batch."""
        self._summaries.update(now=self._run.once)


class _Round:
    """One micro-batch.

    Args:
        run: the job's context.
        batch: the batch.
        dimensions: of the batch.
        rules: the rules in force.
        may_be_repeated: whether a part of the batch may be in the tables already.
    """

    def __init__(
        self,
        run: JobContext,
        batch: Batch,
        dimensions: Dimensions,
        rules: PublishRules,
        may_be_repeated: bool,
    ) -> None:
        self._lake = run.lake
        self._source = Source(run.lake, on_driver=batch.rows < SMALL_BATCH_ROWS)
        self._batch = batch
        self._dimensions = dimensions
        self._visitor_rules = VisitorRules.of(rules.numbers, rules.orders.refunds, rules.own_hosts)
        self._view_span = rules.numbers.view_span
        self._person_rules = PersonRules.of(rules.numbers, dimensions.rates, rules.orders)
        self._may_be_repeated = may_be_repeated

    def publish(self, summarized: int) -> int:
        """Write the changes of the micro-batch; return the number of rows written."""
        moments = new_moments(self._lake, self._batch, self._dimensions)
        area = load_area(self._lake, moments, self._view_span)
        visits = self._compute(visit_changes(self._source, area, self._dimensions, self._visitor_rules))
        touched = touch_changes(visits.table(TOUCHES.short_name))
        changes = Changes(
            area=area,
            goals=goals_of(visits.table(GOAL)),
            bot_refunds=new_bot_refunds(self._lake, self._batch, self._dimensions, self._person_rules.orders),
            touched=_times_by_visitor(touched),
            dimensions=self._dimensions,
            look_back=self._person_rules.look_back,
            orders=self._person_rules.orders,
        )
        affected = find_affected(self._lake, changes)
        credit = self._credit(affected, touched)
        rows = self._write(credit, ATTRIBUTION.name)
        both = (
            partial(self._write, credit, TRAILS.name),
            partial(self._write_minutes, area, visits, affected, credit, summarized),
        )
        rows += sum(run_concurrently(both))
        if affected.bot_refunds:  # before their rows in gold.conversions are deleted
            self._lake.append(BOT_REFUNDS.name, to_rows(affected.bot_refunds), self._batch.upto)
        return rows + self._write(credit, CONVERSIONS.name) + self._write(visits, TOUCHES.name)

    def _compute(self, groups: Groups) -> Computed:
        return Computed(groups, self._lake.spark, self._source.on_driver)

    def _credit(self, affected: AffectedConversions, touched: list[tuple[Touch, bool]]) -> Computed | None:
        stored: dict[str, list[int]] = defaultdict(list)
        for row in affected.before:
            stored[row.conversion_id].append(row.converted_at)
        for goal in affected.goals:
            if self._may_be_repeated or goal.conversion_id in stored:
                stored[goal.conversion_id].append(goal.converted_at)
        given = CreditInput(affected, touched, stored)
        changes = credit_changes(self._source, given, self._dimensions, self._person_rules)
        return None if changes is None else self._compute(changes)

    def _write(self, computed: Computed | None, name: str) -> int:
        if computed is None:
            return 0
        side_input = to_micros(self._batch.side_input_upto)
        changes = computed.rows(TABLES[name].short_name)
        return write_changes(self._lake, name, changes, self._batch.upto, heard=side_input)

    def _write_minutes(
        self,
        area: Area,
        visits: Computed,
        affected: AffectedConversions,
        credit: Computed | None,
        summarized: int,
    ) -> int:
        """Append the differences to gold.visitor_minutes; they do not count as rows written."""
        changed = [] if credit is None else changed_conversions(credit.table(CONVERSIONS.short_name))
        minutes = visits.rows(MINUTE)
        given = minute_input(self._lake, area, affected.before, changed, minutes, self._dimensions)
        rows = self._compute(minute_changes(self._source, given)).all_rows()
        if given.quarters or not is_empty(rows):
            sequence = int(str(self._lake.last_commit(VISITOR_MINUTES.name).get("sequence", 0))) + 1
            together = union(rows, quarter_marks(given.quarters))
            stamped = with_number(together, "sequence", sequence)
            side_input = to_micros(self._batch.side_input_upto)
            numbers = {"sequence": sequence, "summarized": summarized, "heard": side_input}
            self._lake.append(VISITOR_MINUTES.name, stamped, self._batch.upto, **numbers)
        return 0


def _times_by_visitor(touched: Iterable[tuple[Touch, bool]]) -> dict[str, list[int]]:
    times: dict[str, list[int]] = defaultdict(list)
    for touch, _ in touched:
        times[touch.visitor_id].append(touch.touched_at)
    return dict(times)
