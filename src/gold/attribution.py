"""Attribution: each conversion's credit shared among the touches that led to it."""

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from gold.rules.models import DIRECT, ENDS, HALF_LIFE, MODELS
from lakehouse.contracts.gold import ATTRIBUTION

_EXACT = "decimal(19,18)"
_MONEY = "decimal(18,4)"
_TOUCH = (
    "touch_id", "touched_at", "campaign_source", "campaign_medium", "campaign_name", "promotion_id",
)  # fmt: skip
_ALL = (Window.unboundedPreceding, Window.unboundedFollowing)


def credit_touches(journeys: DataFrame) -> DataFrame:
    """Share each conversion's value among its touches, by every model.

    Args:
        journeys: one row a conversion and touch, as `gold.journeys.trace_journeys` gives them.

    Returns:
        gold.attribution: one row a conversion, model and touch. Credits sum to 1 by conversion and
        model; credited values sum to the conversion's value exactly: what rounding leaves goes whole to
        the largest credit, the latest of equals.
    """
    models = F.explode(F.array(*(F.lit(model) for model in MODELS)))
    of_conversion = Window.partitionBy("conversion_id").orderBy("position").rowsBetween(*_ALL)
    weighed = (
        _unpack(journeys)
        .withColumns(
            {
                "_last": F.max(F.when(F.col("channel") != DIRECT, F.col("position"))).over(of_conversion),
                "_weight": _weight(),
            }
        )
        .withColumn("_weights", F.sum("_weight").over(of_conversion))
    )
    rows = weighed.withColumn("model", models).withColumn("credit", _credit())
    of_model = Window.partitionBy("conversion_id", "model")
    by_credit = of_model.orderBy(F.desc("credit"), F.desc("position"))
    ranked = rows.withColumn("_rank", F.row_number().over(by_credit))
    for name, money in (("credited_value", "value"), ("credited_reporting_value", "reporting_value")):
        ranked = ranked.withColumn(name, _share(F.col(money), of_model))
    return ranked.select(*ATTRIBUTION.column_names)


def _unpack(journeys: DataFrame) -> DataFrame:
    touch = {name: F.col(f"touch.{name}") for name in _TOUCH}
    made = F.coalesce("touch.rules_version", "rules_version")
    told = {"channel": F.coalesce("touch.channel", F.lit(DIRECT)), "rules_version": made}
    return journeys.withColumns({**touch, **told})


def _weight() -> Column:
    """For time_decay: half as much with each half-life before the conversion."""
    age = F.unix_micros("anchor.at") - F.unix_micros("touched_at")
    return F.pow(F.lit(2.0), -age / F.lit(HALF_LIFE // timedelta(microseconds=1)))


def _credit() -> Column:
    """See `gold.rules.models`."""
    position, touches = F.col("position"), F.col("touches")
    at_an_end = (position == 1) | (position == touches)
    shared = {
        "first": (position == 1).cast("double"),
        "last": (position == touches).cast("double"),
        "last_non_direct": (position == F.coalesce("_last", touches)).cast("double"),
        "linear": F.lit(1.0) / touches,
        "position_based": F.when(touches <= 2, F.lit(1.0) / touches)
        .when(at_an_end, F.lit(ENDS))
        .otherwise(F.lit(1 - 2 * ENDS) / (touches - 2)),
        "time_decay": F.col("_weight") / F.col("_weights"),
    }
    credit = F.lit(None).cast("double")
    for model in MODELS:
        credit = F.when(F.col("model") == model, shared[model]).otherwise(credit)
    return F.when(touches == 0, F.lit(1.0)).otherwise(credit)


def _share(value: Column, of_model: WindowSpec) -> Column:
    """The touch's part of a value, half up to four decimals, and the remainder to the first in rank."""
    part = F.round(value * F.col("credit").cast(_EXACT), 4).cast(_MONEY)
    remainder = value - F.sum(part).over(of_model)
    return F.when(F.col("_rank") == 1, part + remainder).otherwise(part).cast(_MONEY)
