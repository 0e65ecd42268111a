"""The credit of channels in each period, computed in Spark's Python workers from the period's paths."""

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gold.rules.paths import Path
from gold.rules.period_paths import FIGURES, PeriodCredit, PeriodPaths
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.channel_credit import CHANNEL_CREDIT
from lakehouse.rows.grouped import GroupedRows, batch_of_kind, map_groups, rows_of_kind, with_key
from lakehouse.timestamps import from_micros, to_micros

PATHS, CREDIT, PERIOD = "paths", "credit", "period"
_SPAN = ("period_start", "period_end")
_TIMES = [pa.field(name, pa.timestamp("us", tz="UTC")) for name in _SPAN]
_NUMBERS = [pa.field(name, pa.float64()) for name in FIGURES]
_TEXTS = [pa.field(name, pa.string()) for name in ("digest", "csv")]
_SCHEMA = pa.schema(
    [
        pa.field(
            CREDIT, pa.struct([each for each in arrow_schema(CHANNEL_CREDIT) if each.name != "model_version"])
        ),
        pa.field(PERIOD, pa.struct([*_TIMES, *_NUMBERS, *_TEXTS])),
    ]
)


def fold_paths(paths: DataFrame) -> DataFrame:
    """Fold the paths of each period.

    A worker holds the paths of one period at a time: the distinct sequences of channels in a month.

    Args:
        paths: of `gold.models.channel_paths.find_paths`.

    Returns:
        Rows of two kinds. `CREDIT`: rows of gold.channel_credit without `model_version`. `PERIOD`: a row per
        period with `FIGURES`, and the paths as `digest` and `csv`.
    """
    columns = (*_SPAN, "channels", "conversions", "value", "nulls")
    key = F.concat_ws("/", *(F.unix_micros(name) for name in _SPAN))
    return map_groups({PATHS: with_key(paths, key, columns)}, _fold, _SCHEMA)


def credit_of_periods(folded: DataFrame) -> tuple[PeriodCredit, ...]:
    """The credit of each period on the driver, in order: some rows per period, model and channel.

    Args:
        folded: of `fold_paths`, checkpointed.
    """
    found: dict[tuple[int, int], dict[str, dict[str, float]]] = {}
    credited = rows_of_kind(folded, CREDIT).select(*_span(), "model", "channel", "conversions")
    for start, end, model, channel, conversions in sorted(credited.collect()):
        found.setdefault((start, end), {}).setdefault(model, {})[channel] = conversions
    periods = rows_of_kind(folded, PERIOD).select(*_span(), "digest", *FIGURES)
    return tuple(
        PeriodCredit(
            from_micros(start),
            from_micros(end),
            dict(zip(FIGURES, figures, strict=True)),
            digest,
            found[start, end],
        )
        for start, end, digest, *figures in sorted(periods.collect())
    )


def path_file(folded: DataFrame, period: PeriodCredit) -> str:
    """The paths of one period as CSV."""
    start, end = _span()
    is_wanted = (start == to_micros(period.start)) & (end == to_micros(period.end))
    (row,) = rows_of_kind(folded, PERIOD).where(is_wanted).select("csv").collect()
    return str(row.csv)


def _span() -> list[Column]:
    return [F.unix_micros(name).alias(name) for name in _SPAN]


def _fold(groups: GroupedRows) -> Iterable[pa.RecordBatch]:
    for rows in groups.rows(PATHS, tuple).values():
        start, end = rows[0][:2]
        period = PeriodPaths.of(
            Path(tuple(channels), conversions, float(value), nulls)
            for _, _, channels, conversions, value, nulls in rows
        )
        yield batch_of_kind(_SCHEMA, CREDIT, [(start, end, *credit) for credit in period.credits()])
        yield batch_of_kind(
            _SCHEMA, PERIOD, [(start, end, *period.figures(), period.digest(), period.as_csv())]
        )
