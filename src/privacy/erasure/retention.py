"""How long persons are kept, by conf/retention.yml."""

from datetime import datetime, timedelta
from pathlib import Path

import narwhals as nw
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lakehouse.bundle_file import read_yaml
from lakehouse.errors import MillraceError, first_problem
from privacy.identities import IDENTITIES, Person, Scan, find_person

FILE = "retention.yml"
MOST = 10_000
"""Users and visitors that one erasure takes at most."""


class Retention(BaseModel):
    """The spans of conf/retention.yml.

    Args:
        persons: how long after their last event persons are kept; None: without end.
        records: how long bronze keeps key, value and headers of records; None: without end.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    persons: timedelta | None = Field(None, ge=timedelta(days=1))
    records: timedelta | None = Field(None, ge=timedelta(days=1))


def load_retention(conf: Path) -> Retention:
    """Read conf/retention.yml; without it, nothing expires.

    Raises:
        MillraceError: for an unknown name, or a value that is not allowed.
    """
    file = conf / FILE
    try:
        return Retention.model_validate(read_yaml(file) if file.is_file() else {})
    except ValidationError as error:
        raise MillraceError(f"{FILE}: {first_problem(error)}", f"Correct {file}") from error


def find_expired(scan: Scan, before: datetime, most: int = MOST) -> Person:
    """Persons whose last event is before a time: those with the earliest ones.

    As long as one of a user's visitors sends events, whoever uses it, the user stays.

    Args:
        scan: reads tables.
        before: the time.
        most: number of users, and visitors without a user, at most.
    """
    events, spans = scan("silver.events"), scan(IDENTITIES)
    if events is None or spans is None:
        return Person(frozenset(), frozenset())
    last = events.group_by("visitor_id").agg(nw.col("event_time").max().alias("last"))
    pairs = spans.select("visitor_id", "user_id").unique()
    users = pairs.join(last, on="visitor_id").group_by("user_id").agg(nw.col("last").max())
    alone = last.join(pairs, on="visitor_id", how="anti")
    both = [
        users.select(nw.col("user_id").alias("value"), nw.lit("user").alias("kind"), nw.col("last")),
        alone.select(nw.col("visitor_id").alias("value"), nw.lit("visitor").alias("kind"), nw.col("last")),
    ]
    expired = nw.concat(both).filter(nw.col("last") < before).sort("last", "value").head(most)
    by_kind: dict[str, list[str]] = {"user": [], "visitor": []}
    for value, kind in expired.select("value", "kind").collect("pyarrow").iter_rows():
        by_kind[kind].append(value)
    return find_person(scan, by_kind["user"], by_kind["visitor"])
