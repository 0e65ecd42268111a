"""The same traffic in three orders of arrival: in order at once, shuffled (nearly all late), and in batches.

Each order gives the tables of the oracle, and all give the same rows apart from provenance. Whether a record
is accepted depends on the record and its Kafka timestamp alone, and the final watermark on the latest
accepted event time. By the rules two results depend on the order, so the traffic avoids them: which of
differing duplicates is kept (the first), and which of two rates valid from the same time counts (the last).
"""

import hashlib
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import Bronze, Record
from kit.sample import sample
from kit.spark import empty_home
from lakehouse.contracts import TABLES
from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.lineage import first_writers
from lakehouse.settings import Settings

SILVER = tuple(
    name
    for name, writer in first_writers("silver").items()
    if writer != "dimensions" and name != CONSENTS.name  # the traffic has no consents, nor changes of a shop
)
SEED = 20


@dataclass(frozen=True)
class Arrival:
    """Records by bronze commit, one micro-batch of refine each, and the commits after which repair runs."""

    commits: Sequence[Sequence[Record]]
    repaired: frozenset[int] = frozenset()


def in_order(records: Sequence[Record]) -> Arrival:
    return Arrival([records])


def shuffled(records: Sequence[Record]) -> Arrival:
    """A small random part that moves the watermark near its end, then the rest in random order."""
    mixed = random.Random(SEED).sample(records, len(records))
    few = len(mixed) // 50
    cuts = [0, few, few * 10, few * 25, len(mixed)]
    return Arrival([mixed[low:high] for low, high in pairwise(cuts)], frozenset({1, 2}))


def in_pieces(records: Sequence[Record], batches: int) -> Arrival:
    """In order, in batches of unequal size; repair runs after some of them only."""
    chance = random.Random(SEED)
    cuts = [0, *sorted(chance.sample(range(1, len(records)), batches - 1)), len(records)]
    pieces = [records[low:high] for low, high in pairwise(cuts)]
    return Arrival(pieces, frozenset(chance.sample(range(batches), batches // 4)))


def run_arrival(spark: SparkSession, settings: Settings, arrival: Arrival) -> Bronze:
    """Run the jobs after each commit, in new Spark sessions, and return the final bronze."""
    bronze = Bronze(spark, settings)
    for number, records in enumerate(arrival.commits):
        bronze.commit(records)
        run_jobs(spark, settings, "refine", *(["repair"] if number in arrival.repaired else []))
    run_jobs(spark, settings, "repair")
    return bronze


def late_share(settings: Settings, batches: int) -> float:
    """The share of late events by the ledger, which must have this many micro-batches of refine."""
    ledger = read_rows(settings, "ops.ledger", ("job", "output_rows", "late"))
    refined = [row for row in ledger if row["job"] == "refine"]
    assert len(refined) == batches
    return sum(row["late"] for row in refined) / sum(row["output_rows"] for row in refined)


def digests(settings: Settings) -> dict[str, str]:
    """By table, its row count and a SHA-256 over its sorted rows, provenance excluded."""
    found = {}
    for name in SILVER:
        facts = TABLES[name].deterministic_columns
        lines = sorted(repr([row[fact] for fact in facts]) for row in read_rows(settings, name, facts))
        found[name] = f"{len(lines):>7} {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"
    return found


def describe_difference(arrival: str, found: dict[str, str]) -> Iterator[str]:
    return (f"{arrival:9} {name:24} {digest}" for name, digest in found.items())


def check_arrival_orders(spark: SparkSession, home: Path, events: int, batches: int) -> None:
    records = sample(events)
    arrivals = {
        "in order": in_order(records),
        "shuffled": shuffled(records),
        "in pieces": in_pieces(records, batches),
    }
    found, late, report, wrong = {}, {}, [], []
    for name, arrival in arrivals.items():
        settings = empty_home(spark, home / name.replace(" ", "-"))
        bronze = run_arrival(spark, settings, arrival)
        late[name] = late_share(settings, len(arrival.commits))
        found[name] = digests(settings)
        report += describe_difference(name, found[name])
        try:
            assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")
        except AssertionError as differs:
            wrong.append(f"{name}: {differs}")
    sys.stdout.write("\n".join(["", *report, ""]))
    empty = [table for table in SILVER if found["in order"][table].lstrip().startswith("0 ")]
    differing = [table for table in SILVER if len({each[table] for each in found.values()}) > 1]
    assert [*wrong, *empty, *differing] == [], "\n".join([*wrong, f"not the same: {differing}", *report])
    assert late["in order"] == 0 < late["in pieces"] < 0.1 < 0.9 < late["shuffled"], late


@pytest.mark.long
def test_silver_is_the_same_for_ordered_shuffled_and_batched_arrival(
    spark: SparkSession, tmp_path: Path
) -> None:
    check_arrival_orders(spark, tmp_path, events=100_000, batches=25)
