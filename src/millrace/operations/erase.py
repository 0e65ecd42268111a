"""The job that erases persons: a sequence of idempotent steps, each entered in the register."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial, reduce
from operator import and_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.records.placeholders import load_placeholders
from gold.erasure import ERASED_COLUMNS, remove_from_gold
from lakehouse.contracts import LOCKS, TABLES
from lakehouse.contracts.ops import ERASED_IDENTITIES, ERASED_RECORDS, READS
from lakehouse.delta.ddl import exists
from lakehouse.delta.exclusive import lock_of
from lakehouse.entry_point import Job
from lakehouse.erasure.blank_records import PLACE, blank_records
from lakehouse.erasure.keyed_hash import ROW, KeyedHash
from lakehouse.erasure.purge import purge
from lakehouse.errors import MillraceError
from lakehouse.rows.checkpointing import checkpoint, checkpoint_with
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger, now
from lakehouse.timestamps import EPOCH, from_micros, to_micros
from millrace.operations.caught_up import JOBS, catch_up, caught_up, last_batches
from millrace.operations.current_person import current_person
from millrace.operations.erase_files import erase_files
from privacy.erasure.reads import delete_reads
from privacy.erasure.selection import Selection
from privacy.erasure.work_folder import WorkFolder
from privacy.export.tables import WITHOUT_PERSONS
from privacy.identities import Identity
from privacy.requests.register import Register
from shop.erasure import hashes_of_rows, records_of_rows, remove_from_shop, rows_of_customers
from silver.erasure import remove_from_silver

_EVENTS, _VISITORS, _SHOP_ROWS = "events", "visitors", "shop_rows"


def erase_job(request: str) -> Job:
    """The job that erases the identities of a request, or resumes that.

    Args:
        request: number of a request of which `privacy.erasure.work_folder.WorkFolder` has the identities.
    """
    return Job("erase", lambda run: _erase(run, request))


def _erase(run: JobContext, request: str) -> None:
    register, is_shared = Register(run.settings.home), bool(run.settings.catalog)
    if is_shared:
        catch_up(run)
    with caught_up(run, _stopped(request)) as locked:
        erasure = _Erasure(locked, request)
        if is_shared:
            erasure.begin(register)
        done = register.find(request).steps
        for name, step in erasure.steps().items():
            if run.stop.is_set():
                raise _stopped(request)
            if name not in done:
                run.log(f"{name}")
                step()
                register.add_step(request, name, now())
        if is_shared:
            erasure.require_no_others(register)
        erasure.end(register)


def _stopped(request: str) -> MillraceError:
    return MillraceError(f"the erasure of {request} was stopped", f"Run `millrace erase --request {request}`")


@dataclass
class _Erasure:
    """One erasure.

    Args:
        run: its context, with the locks of silver and gold.
        request: number of the request.
    """

    run: JobContext
    request: str

    def steps(self) -> dict[str, Callable[[], None]]:
        """The steps by name, in order. Each may be repeated after an interruption."""
        return {
            "select": self.select,
            "shop": lambda: remove_from_shop(self.run, self.records, self.shop_rows, self.upto),
            "silver": lambda: remove_from_silver(self.run, self.records, self.visitors, self.upto),
            "bronze": lambda: blank_records(self.run.lake, self.records, self.upto),
            "gold": lambda: remove_from_gold(self.run, self.events, self.visitors),
            "reads": self.delete_reads,
            "files": self.erase_files,
            "purge": self.purge,
        }

    @property
    def upto(self) -> datetime:
        """The ingest stamp through which records are erased: refine's high-water mark."""
        last = Ledger(self.run.lake).last("refine")
        return last.position if last else EPOCH

    @property
    def arrived(self) -> datetime:
        """The ingest stamp through which records are in bronze; refine may not have the last ones yet."""
        last = Ledger(self.run.lake).last("ingest")
        return max(last.position, self.upto) if last else self.upto

    @cached_property
    def records(self) -> DataFrame:
        """The erased records, each once."""
        theirs = self.run.lake.read(ERASED_RECORDS.name).where(F.col("request") == self.request)
        return checkpoint(theirs.select(*PLACE, "ingested_at"))

    @cached_property
    def visitors(self) -> DataFrame:
        """The visitors whose rows may change."""
        return checkpoint(self.folder.read(self.run.spark, _VISITORS))

    @cached_property
    def shop_rows(self) -> DataFrame:
        """The erased rows of the shop's database."""
        return checkpoint(self.folder.read(self.run.spark, _SHOP_ROWS))

    @cached_property
    def events(self) -> DataFrame:
        """The erased events."""
        return checkpoint(self.folder.read(self.run.spark, _EVENTS))

    @cached_property
    def folder(self) -> WorkFolder:
        """What the erasure needs until it has ended."""
        return WorkFolder(self.run.settings.home, self.request)

    def select(self) -> None:
        """List the records and spans to erase: from now on, copies of the records are dropped."""
        lake, at = self.run.lake, F.lit(now())
        self.folder.note_versions(self._versions())
        hashes = KeyedHash.of_home(self.run.settings.home)
        person = current_person(self.run, self.request)
        placeholders = load_placeholders(self.run.settings.conf)
        selection = Selection(self.run.spark, lake, person, hashes, placeholders)
        events, found = checkpoint_with(selection.events(), latest=F.max(F.unix_micros("event_time")))
        self.folder.write(_EVENTS, events.select(*ERASED_COLUMNS))
        self.folder.write(_VISITORS, selection.visitors(events))
        rows = checkpoint(rows_of_customers(self.run, selection.users))
        self.folder.write(_SHOP_ROWS, rows)
        changes = checkpoint(records_of_rows(self.run, rows))
        stamps = {"request": F.lit(self.request), "erased_at": at}
        through = max(to_micros(self.arrived), found["latest"] or 0) + 1
        spans = selection.spans(from_micros(through)).withColumns(stamps)
        until = {"valid_from": F.lit(None).cast("timestamp"), "valid_to": at, "kind": F.lit(ROW)}
        spans = spans.unionByName(hashes_of_rows(hashes, rows, changes).withColumns({**until, **stamps}))
        span = ("identity_hash", "kind", "request", "valid_from", "valid_to")
        self._append_new(ERASED_IDENTITIES.name, spans, span)
        records = (
            selection.records(events)
            .unionByName(changes.drop("key"), allowMissingColumns=True)
            .groupBy(*PLACE)
            .agg(
                F.first("ingested_at").alias("ingested_at"),
                F.first("record_class").alias("record_class"),
                F.first("uid_hash", ignorenulls=True).alias("uid_hash"),
            )
        )
        self._append_new(ERASED_RECORDS.name, records.withColumns(stamps), PLACE)

    def _append_new(self, name: str, rows: DataFrame, key: tuple[str, ...]) -> None:
        known = self.run.lake.read(name).select(*key)
        is_same = reduce(and_, (rows[column].eqNullSafe(known[column]) for column in key))
        new = checkpoint(rows.join(known, is_same, "left_anti"))
        self.run.lake.append(name, new)

    def delete_reads(self) -> None:
        """Delete queries of readers that name the persons."""
        texts, settings = self.folder.person().own_texts, self.run.settings
        if settings.catalog:
            delete_reads(self.run.spark, texts)
        else:
            from privacy.erasure.folder_reads import delete_folder_reads  # a workspace has no deltalake

            delete_folder_reads(settings.warehouse.joinpath(*READS.name.split(".")), texts)

    def erase_files(self) -> None:
        """Erase the persons from all that is not in tables."""
        for line in erase_files(self.run.settings, self.folder.person().own_texts):
            self.run.log(line)

    def purge(self) -> None:
        """Remove old versions of all tables that have rows of persons."""
        settings = self.run.settings
        with_persons = [name for name in TABLES if name not in WITHOUT_PERSONS]
        there = [name for name in with_persons if exists(self.run.spark, settings, name)]
        run_concurrently([partial(self._purge, name) for name in there])

    def _purge(self, name: str) -> None:
        settings, is_locked = self.run.settings, TABLES[name].layer in LOCKS  # by `caught_up`
        folder = None if settings.catalog else settings.warehouse.joinpath(*name.split("."))
        with nullcontext() if is_locked else lock_of(settings.warehouse, name):
            is_purged = purge(self.run.spark, name, folder)
        if not is_purged:
            self.run.log(f"{name}: removed files stay until maintenance has run VACUUM")

    def begin(self, register: Register) -> None:
        """Note what the jobs have processed; if it was something else before, all steps are due again.

        No lock keeps other applications out, while an erasure runs or after it was interrupted.
        """
        now_, before = last_batches(self.run.lake), self.folder.batches
        if before is not None and before != now_:
            self._start_over(register)
        self.folder.note_batches(now_)

    def require_no_others(self, register: Register) -> None:
        """Check that no other application has run one of the jobs since `begin`.

        Raises:
            MillraceError: if one has; all steps are due again then.
        """
        if last_batches(self.run.lake) != self.folder.batches:
            self._start_over(register)
            raise MillraceError(
                f"{', '.join(JOBS)} have run during the erasure of {self.request}, in another application",
                f"Stop the job streams, and run `millrace erase --request {self.request}` again",
            )

    def _start_over(self, register: Register) -> None:
        shared = (Identity("visitor", each) for each in self.folder.person().shared)
        register.start_erasure(self.request, shared, now())

    def end(self, register: Register) -> None:
        """Enter the end into the register, and forget the identities."""
        before, after = self.folder.note_versions({}), self._versions()
        changed = {
            name: (before.get(name, 0), now_) for name, now_ in after.items() if before.get(name) != now_
        }
        register.add_erasure(self.request, f"{self.records.count():,} records erased", changed, now())
        self.folder.remove()

    def _versions(self) -> dict[str, int]:
        lake, settings = self.run.lake, self.run.settings
        return {name: lake.version(name) for name in TABLES if exists(self.run.spark, settings, name)}
