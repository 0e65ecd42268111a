"""The same sample traffic three ways: in order at once, shuffled so that nearly all is late, and in pieces.

Each way gives what the oracle gives, and all give the same, provenance aside. The order must not show:
whether a record is accepted follows from the record alone, Kafka's time included, and the last watermark
from the latest time of all that is accepted, clocks up to five minutes fast included. Two things do follow
from the order, by the rules, so the traffic has none of them: which of copies that differ stays (the
first), and which of two rates valid from the same time counts (the last).
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
from lakehouse.settings import Settings

SILVER = tuple(name for name, table in TABLES.items() if table.layer == "silver")
SEED = 20


@dataclass(frozen=True)
class Way:
    """Records by bronze commit, each of which refine takes by itself, and after which of them repair runs."""

    commits: Sequence[Sequence[Record]]
    repaired: frozenset[int] = frozenset()


def in_order(records: Sequence[Record]) -> Way:
    return Way([records])


def shuffled(records: Sequence[Record]) -> Way:
    """A small first part, which brings the watermark near its end; then the rest, all of it by chance."""
    mixed = random.Random(SEED).sample(records, len(records))
    few = len(mixed) // 50
    cuts = [0, few, few * 10, few * 25, len(mixed)]
    return Way([mixed[low:high] for low, high in pairwise(cuts)], frozenset({1, 2}))


def in_pieces(records: Sequence[Record], batches: int) -> Way:
    """In order, in batches of unequal size; repair runs behind some of them only."""
    chance = random.Random(SEED)
    cuts = [0, *sorted(chance.sample(range(1, len(records)), batches - 1)), len(records)]
    pieces = [records[low:high] for low, high in pairwise(cuts)]
    return Way(pieces, frozenset(chance.sample(range(batches), batches // 4)))


def go(spark: SparkSession, settings: Settings, way: Way) -> Bronze:
    """Run the jobs, each time new ones with sessions of their own; what bronze holds in the end."""
    bronze = Bronze(spark, settings)
    for number, records in enumerate(way.commits):
        bronze.commit(records)
        run_jobs(spark, settings, "refine", *(["repair"] if number in way.repaired else []))
    run_jobs(spark, settings, "repair")
    return bronze


def late_share(settings: Settings, batches: int) -> float:
    """Late events of all, by the ledger, which has so many micro-batches of refine."""
    ledger = read_rows(settings, "ops.ledger", ("job", "output_rows", "late"))
    refined = [row for row in ledger if row["job"] == "refine"]
    assert len(refined) == batches
    return sum(row["late"] for row in refined) / sum(row["output_rows"] for row in refined)


def digests(settings: Settings) -> dict[str, str]:
    """By table, how many rows it has, and a SHA-256 over them in order, provenance aside."""
    found = {}
    for name in SILVER:
        facts = TABLES[name].deterministic_columns
        lines = sorted(repr([row[fact] for fact in facts]) for row in read_rows(settings, name, facts))
        found[name] = f"{len(lines):>7} {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"
    return found


def describe_difference(way: str, found: dict[str, str]) -> Iterator[str]:
    return (f"{way:9} {name:24} {digest}" for name, digest in found.items())


def check_three_ways(spark: SparkSession, home: Path, events: int, batches: int) -> None:
    records = sample(events)
    ways = {
        "in order": in_order(records),
        "shuffled": shuffled(records),
        "in pieces": in_pieces(records, batches),
    }
    found, late, report, wrong = {}, {}, [], []
    for name, way in ways.items():
        settings = empty_home(spark, home / name.replace(" ", "-"))
        bronze = go(spark, settings, way)
        late[name] = late_share(settings, len(way.commits))
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
def test_three_ways_to_the_same_tables(spark: SparkSession, tmp_path: Path) -> None:
    check_three_ways(spark, tmp_path, events=300_000, batches=50)
