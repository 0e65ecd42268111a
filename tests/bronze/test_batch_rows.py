"""How many records ingest reads at once."""

import pytest

from bronze.job import batch_rows
from lakehouse.settings import load_settings


@pytest.mark.parametrize(
    ("most", "once", "rows"), [(300_000, True, 300_000), (300_000, False, 50_000), (5, False, 1)]
)
def test_continuous_ingest_takes_a_sixth_of_the_largest_micro_batch(most: int, once: bool, rows: int) -> None:
    assert batch_rows(load_settings(max_batch_rows=most), once) == rows
