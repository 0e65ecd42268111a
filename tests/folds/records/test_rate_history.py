"""History of exchange rates by currency and start of validity."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from folds.records.rate_history import RateRow, merge_rates

NOON, SECOND, HOUR = 1_772_366_400_000_000, 1_000_000, 3_600_000_000


def row(
    currency: str, rate: str, start: int, stamp: int, partition: int, offset: int, records: int = 1
) -> RateRow:
    return RateRow(currency, Decimal(rate), start, None, records, "t", partition, offset, stamp)


def test_rate_is_valid_until_next_and_latest_bronze_record_wins() -> None:
    merged = merge_rates(
        [
            row("USD", "0.9", NOON, NOON, 1, 5, records=2),
            row("USD", "0.8", NOON, NOON, 1, 4),
            row("USD", "0.7", NOON + HOUR, NOON + SECOND, 0, 1),
            row("USD", "0.6", NOON + HOUR, NOON + SECOND, 0, 0),
            row("GBP", "1.1", NOON + HOUR, NOON + SECOND, 0, 2),
        ]
    )
    found = [(each.currency, str(each.rate), each.records, each.valid_to, each.offset) for each in merged]
    assert found == [
        ("GBP", "1.1", 1, None, 2),
        ("USD", "0.9", 3, NOON + HOUR, 5),
        ("USD", "0.7", 2, None, 1),
    ]


ROWS = st.builds(
    row,
    st.sampled_from(["USD", "GBP"]),
    st.sampled_from(["0.9", "1.1"]),
    st.integers(0, 3),
    st.integers(0, 2),
    st.integers(0, 1),
    st.integers(0, 2),
)


@given(st.lists(ROWS, max_size=8, unique_by=lambda each: each[5:]), st.data())
def test_rate_history_is_independent_of_batches_and_order(rows, data):
    known: list[RateRow] = []
    rest = data.draw(st.permutations(rows))
    while rest:
        count = data.draw(st.integers(1, len(rest)))
        known, rest = merge_rates([*known, *rest[:count]]), rest[count:]
    assert known == merge_rates(rows)
    for currency in {each.currency for each in rows}:
        starts = sorted({each.valid_from for each in rows if each.currency == currency})
        ends = [each.valid_to for each in known if each.currency == currency]
        assert ends == [*starts[1:], None]
