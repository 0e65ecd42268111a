"""Attribution: splits each conversion's credit and value among its touches, by every model."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import repeat
from typing import Any

from folds.persons.credit import split_value
from folds.persons.journeys import Journey
from folds.persons.models import DIRECT, MODELS, ModelInput, ModelNumbers
from folds.persons.records import AttributionRow, Touch

_COLUMNS = ("touch_id", "touched_at", "channel", "campaign_source", "campaign_medium", "campaign_name",
            "campaign_term", "campaign_content", "campaign_id", "click_id_kind", "promotion_id",
            "rules_version")  # fmt: skip
_INDEXES = [Touch._fields.index(name) for name in _COLUMNS]
_NO_TOUCH: tuple[None, ...] = (None,) * len(Touch._fields)


def credit_touches(
    journey: Journey, reporting_value: Decimal | None, numbers: ModelNumbers, is_counted: bool = True
) -> list[AttributionRow]:
    """Split a conversion's credit and values among its touches.

    Args:
        journey: the conversion and its touches.
        reporting_value: its value in the reporting currency.
        numbers: parameters of the models.
        is_counted: whether it counts as a conversion.

    Returns:
        Rows of gold.attribution, by model and position. Credits sum to 1; credited values sum exactly to the
        conversion's value. Without a touch, one row per model gives all credit to Direct, at position 0.
    """
    conversion, anchor, touches, _ = journey
    value, of = conversion.value, repeat(conversion.conversion_id)
    columns: list[Sequence[Any]] = list(zip(*(touches or (_NO_TOUCH,)), strict=True))
    ids, times, channels, *campaign, versions = (columns[index] for index in _INDEXES)
    channels = _without_nulls(channels, DIRECT)
    versions = _without_nulls(versions, conversion.rules_version)
    ages = [anchor.converted_at - touch.touched_at for touch in touches] or [0]
    positions = range(1, len(touches) + 1) if touches else (0,)
    same = (ids, positions, times, repeat(conversion.converted_at), channels, *campaign)
    given = ModelInput(channels, ages, numbers)
    rows: list[AttributionRow] = []
    for model, share in MODELS.items():
        credits_ = share(given)
        values = split_value(value, credits_)
        reported = values if reporting_value == value else split_value(reporting_value, credits_)
        by_touch = zip(
            of, repeat(model), *same, credits_, repeat(is_counted), values, reported, versions, strict=False
        )
        rows.extend(map(AttributionRow._make, by_touch))
    return rows


def _without_nulls(column: Sequence[Any], default: Any) -> Sequence[Any]:
    return [default if value is None else value for value in column] if None in column else column
