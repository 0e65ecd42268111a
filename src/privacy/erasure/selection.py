"""Selects what is erased: records of persons over all their spans, and the spans themselves."""

from collections.abc import Iterable
from datetime import datetime

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.erasure.keyed_hash import UID, USER, VISITOR, KeyedHash
from lakehouse.rows.arrow_frames import to_frame
from lakehouse.rows.semi_join import semi_join
from privacy.erasure.naming import naming, own_records
from privacy.identities import IDENTITIES, Person

PLACE = ("topic", "partition", "offset")
_RECORD = (*PLACE, "ingested_at")
_BOUNDS = ("valid_from", "from_event_id", "valid_to", "to_event_id")
_EVENTS, _DUPLICATES, _REJECTED = "silver.events", "silver.duplicate_events", "silver.rejected_events"
_REJECTED_CHANGES = "silver.rejected_changes"


def with_new_visitors(spark: SparkSession, lake: Lakehouse, person: Person) -> tuple[Person, frozenset[str]]:
    """A person with all visitors that the user ids have by now, and visitors who are others' alone by now.

    Args:
        spark: the job's session.
        lake: the tables.
        person: as it was known when the erasure was asked for.
    """
    spans = lake.read(IDENTITIES).select("visitor_id", "user_id")
    users = _texts(spark, person.users, "user_id")
    theirs = semi_join(spans, users, "user_id").select("visitor_id").distinct()
    of_users = frozenset(visitor for (visitor,) in theirs.collect())
    visitors = person.visitors | of_users
    mine = _texts(spark, visitors, "visitor_id")
    others = semi_join(spans, mine, "visitor_id").join(users, "user_id", "left_anti").select("visitor_id")
    shared = frozenset(visitor for (visitor,) in others.distinct().collect())
    return Person(person.users, visitors, shared), shared - person.shared - of_users


class Selection:
    """What of silver and bronze is of some persons.

    Args:
        spark: the job's session.
        lake: the tables.
        person: identities of one person, or of several.
        hashes: keyed hashes of the home.
        placeholders: values that are no ids, in lower case.
    """

    def __init__(
        self,
        spark: SparkSession,
        lake: Lakehouse,
        person: Person,
        hashes: KeyedHash,
        placeholders: frozenset[str],
    ) -> None:
        self._lake = lake
        self._hashes = hashes
        self._placeholders = placeholders
        self._own = person.own_texts
        self.users = _texts(spark, person.users, "user_id")
        spans = lake.read(IDENTITIES).select("visitor_id", "user_id", *_BOUNDS)
        self._spans = semi_join(spans, self.users, "user_id")
        visitors = _texts(spark, person.users | person.visitors, "visitor_id")
        self._whole = visitors.join(spans, "visitor_id", "left_anti")

    def events(self) -> DataFrame:
        """Rows of silver.events: of the persons' spans, and with their user ids; each once."""
        events = self._lake.read(_EVENTS)
        spans = F.broadcast(self._spans.drop("user_id"))
        inside = events.join(spans, "visitor_id").where(_is_inside("event_time", "event_id"))
        found = (
            inside.select(*events.columns),
            semi_join(events, self._whole, "visitor_id"),
            semi_join(events, self.users, "user_id"),
        )
        return found[0].unionByName(found[1]).unionByName(found[2]).dropDuplicates(["event_id"])

    def records(self, events: DataFrame) -> DataFrame:
        """`PLACE`, ingested_at, record_class and uid_hash of all records; some may be there twice.

        Duplicates are erased with the event that was kept, and where they are the person's themselves.

        Args:
            events: what `events` has returned. Checkpointed.
        """
        uid = self._hashes.column(UID, F.col("event_id"))
        duplicates, rejected, changes = map(self._lake.read, (_DUPLICATES, _REJECTED, _REJECTED_CHANGES))
        copies = duplicates.join(events.select("event_id"), "event_id", "left_semi")
        stored = self._lake.read("bronze.kafka_records").select(*_RECORD, "key", "value")
        contents = stored.join(duplicates.select(*PLACE), list(PLACE), "left_semi")
        refused = rejected.select(*_RECORD, "value").join(stored.select(*PLACE, "key"), list(PLACE), "left")
        none = F.lit(None).cast("binary")
        return (
            _as_records(events, "event", uid)
            .unionByName(_as_records(copies, "duplicate", uid))
            .unionByName(_as_records(self._own_records(contents), "duplicate", none))
            .unionByName(_as_records(self._own_records(refused), "rejected", none))
            .unionByName(_as_records(naming(changes, self._own), "rejected", none))
        )

    def _own_records(self, contents: DataFrame) -> DataFrame:
        return own_records(contents, self._own, self._placeholders)

    def spans(self, through: datetime) -> DataFrame:
        """identity_hash, kind, valid_from and valid_to of the persons' spans, up to a time."""
        until = F.lit(through)
        nothing = F.lit(None).cast("timestamp")
        visitor = self._hashes.column(VISITOR, F.col("visitor_id"))
        user = self._hashes.column(USER, F.col("user_id"))
        end = F.least(F.coalesce("valid_to", until), until)
        parts = (
            _as_spans(self.users, USER, user, nothing, until),
            _as_spans(self._whole, VISITOR, visitor, nothing, until),
            _as_spans(self._spans, VISITOR, visitor, F.col("valid_from"), end),
        )
        return parts[0].unionByName(parts[1]).unionByName(parts[2]).distinct()

    def visitors(self, events: DataFrame) -> DataFrame:
        """visitor_id of all visitors that rows of silver and gold may name."""
        names = (events, self._whole, self._spans)
        found = [rows.select("visitor_id") for rows in names]
        return found[0].union(found[1]).union(found[2]).distinct()


def _texts(spark: SparkSession, texts: Iterable[str], name: str) -> DataFrame:
    return to_frame(spark, pa.table({name: pa.array(sorted(texts), pa.string())}))


def _is_inside(time: str, event: str) -> Column:
    """The condition of `privacy.export.spans.Spans.rows`."""
    at, uid = F.col(time), F.col(event)
    start, end = F.col("valid_from"), F.col("valid_to")
    is_after = start.isNull() | (at > start) | ((at == start) & (uid >= F.col("from_event_id")))
    is_before = end.isNull() | (at < end) | ((at == end) & (uid < F.col("to_event_id")))
    return is_after & is_before


def _as_records(rows: DataFrame, record_class: str, uid: Column) -> DataFrame:
    return rows.select(*_RECORD, F.lit(record_class).alias("record_class"), uid.alias("uid_hash"))


def _as_spans(rows: DataFrame, kind: str, hashed: Column, start: Column, end: Column) -> DataFrame:
    return rows.select(
        hashed.alias("identity_hash"),
        F.lit(kind).alias("kind"),
        start.alias("valid_from"),
        end.alias("valid_to"),
    )
