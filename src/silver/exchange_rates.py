"""Changes of silver.exchange_rates: the rate of each currency with its validity period."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from folds.records.rate_history import RateRow, merge_rates
from lakehouse.contracts.silver import EXCHANGE_RATES
from lakehouse.delta.write_changes import as_tuples, change_type
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.grouped import GroupedRows, map_groups, with_key
from lakehouse.rows.row_changes import RowDiff
from lakehouse.rows.semi_join import semi_join

_COLUMNS = EXCHANGE_RATES.column_names
_CHANGES = pa.schema(list(change_type(EXCHANGE_RATES)))
RATE_COLUMNS = tuple(name for name in _COLUMNS if name not in ("valid_to", "records"))
"""Columns that come from one record."""


def rate_changes(accepted: DataFrame, known: DataFrame) -> DataFrame:
    """Merge accepted records into the rates of their currencies.

    Args:
        accepted: `RATE_COLUMNS` of rate records that the table does not contain yet.
        known: silver.exchange_rates.

    Returns:
        Columns of `change_type`, one row per changed rate; not computed yet.
    """
    kinds = {
        "new": with_key(accepted, "currency", RATE_COLUMNS),
        "known": with_key(semi_join(known, accepted, "currency"), "currency", _COLUMNS),
    }
    return map_groups(kinds, _fold_rates, _CHANGES)


def _fold_rates(groups: GroupedRows) -> Iterator[pa.RecordBatch]:
    """Merge the rates of each currency, and compare them with the known ones."""
    new, known = groups.rows("new", _new_rate), groups.rows("known", RateRow)
    changes = [
        change
        for currency in new.keys() | known.keys()
        for change in RowDiff(EXCHANGE_RATES).compare(
            known.get(currency, ()), merge_rates([*known.get(currency, ()), *new.get(currency, ())])
        )
    ]
    yield pa.RecordBatch.from_arrays(transpose(as_tuples(changes), list(_CHANGES)), schema=_CHANGES)


def _new_rate(*values: object) -> RateRow:
    fields: dict[str, object] = dict(zip(RATE_COLUMNS, values, strict=True))
    return RateRow(**fields, valid_to=None, records=1)  # type: ignore[arg-type]
