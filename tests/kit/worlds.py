"""Generated touches and conversions at boundary times of the rules, as tables."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from pyspark.sql import DataFrame, SparkSession

from kit.frames import frame_of
from kit.oracle_paths import Conversion, Identity, Touch, World
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.settings import Settings

WATERMARK = datetime(2026, 3, 20, 12, tzinfo=timezone.utc)
REFUND = "Order Refunded"
_BEGIN = datetime(2025, 12, 30, tzinfo=timezone.utc)
_TICK = timedelta(microseconds=1)
_MOMENTS = [
    *(_BEGIN + timedelta(hours=6) * number for number in range(0, 330, 3)),
    *(
        datetime(2026, month, 1, tzinfo=timezone.utc) + by
        for month in (1, 2, 3)
        for by in (-_TICK, 0 * _TICK)
    ),
    *(datetime(2026, month, 1, tzinfo=timezone.utc) - timedelta(hours=1) for month in (1, 2, 3)),
    *(WATERMARK + timedelta(days=days) + by for days in (-30, 0) for by in (-_TICK, 0 * _TICK, _TICK)),
]


def make_world(number: int, persons: int = 60) -> World:
    """Persons, some with two visitors, with touches and conversions 30 days or whole months apart.

    Every tenth person shares a third visitor with another one.
    """
    chance = random.Random(number)
    world = World()
    for person in range(persons):
        visitors = [f"v{person}", f"w{person}"][: chance.choice([1, 1, 2])]
        if len(visitors) == 2 or chance.random() < 0.3:
            world.identities += [Identity(visitor, f"u{person}") for visitor in visitors]
        moments = _moments(chance)
        _add_steps(world, chance, str(person), moments, visitors)
    for person in range(0, persons, 10):
        visitor, moments = f"shared{person}", _moments(chance)
        world.identities += _alternate(visitor, (f"u{person}", f"u{person + 1}"), chance, moments)
        _add_steps(world, chance, visitor, moments, [visitor])
    return world


def _moments(chance: random.Random) -> list[datetime]:
    some = chance.sample(_MOMENTS, 4)
    return [at + timedelta(days=days) for at in some for days in (0, 0, 30, -30)]


def _add_steps(
    world: World, chance: random.Random, name: str, moments: Sequence[datetime], visitors: Sequence[str]
) -> None:
    """Add touches and conversions at some moments; their UIDs are not in order of time."""
    for each in range(chance.randint(0, 7)):
        channel = chance.choice(["Direct", "Direct", "Email", "Paid Search", "Referral"])
        at, visitor, number = chance.choice(moments), chance.choice(visitors), chance.randrange(100)
        touch_id, uid = f"t{number:02}-{name}-{each}", f"e{99 - number:02}-{name}-t{each}"
        world.touches.append(Touch(at, touch_id, visitor, channel, uid))
    for each in range(chance.choice([0, 0, 1, 1, 2, 3])):
        at, visitor = chance.choice(moments), chance.choice(visitors)
        value = chance.choice([None, Decimal(0), Decimal("19.9900"), Decimal("0.0001")])
        number = chance.randrange(100)
        conversion_id, uid = f"c{number:02}-{name}-{each}", f"e{99 - number:02}-{name}-c{each}"
        world.conversions.append(Conversion(at, conversion_id, visitor, value, uid))


def _alternate(
    visitor: str, users: Sequence[str], chance: random.Random, moments: Sequence[datetime]
) -> list[Identity]:
    """Two to four spans of a visitor, with the users in turn, that begin at some of the moments."""
    starts = sorted(chance.sample(sorted(set(moments)), chance.randint(1, 3)))
    begins = [(at, f"e{chance.randrange(100):02}") for at in starts]
    bounds = [(None, None), *begins, (None, None)]
    return [
        Identity(visitor, users[number % len(users)], *bounds[number], *bounds[number + 1])
        for number in range(len(bounds) - 1)
    ]


def frames_of(spark: SparkSession, world: World) -> dict[str, DataFrame]:
    """The tables of a world, including refunds of some conversions."""
    identities = [
        {**each._asdict(), "event_id": f"i{number}"} for number, each in enumerate(world.identities)
    ]
    counted = {"goal": "Order Completed", "is_counted": True}
    reached = [
        {**each._asdict(), "person_id": world.person_of(each), **counted} for each in world.conversions
    ]
    money_alone = {"goal": REFUND, "is_counted": False, "reporting_value": Decimal(-5)}
    refunds = [{**row, "conversion_id": f"r-{row['conversion_id']}", **money_alone} for row in reached[::3]]
    rows = {
        "gold.touches": [touch._asdict() for touch in world.touches],
        "gold.conversions": [*reached, *refunds],
        "silver.identities": identities,
    }
    return {name: frame_of(spark, name, theirs) for name, theirs in rows.items()}


def fill(spark: SparkSession, settings: Settings, world: World, watermark: datetime = WATERMARK) -> None:
    """Write the tables of a world, and a ledger row of publish with a watermark."""
    lake = Lakehouse(spark, settings, "publish")
    for name, rows in frames_of(spark, world).items():
        lake.append(name, rows)
    Ledger(lake).record(
        Entry(
            "publish",
            0,
            position=watermark,
            started_at=watermark,
            seconds=1.0,
            input_rows=1,
            watermark=watermark,
        )
    )
