"""A chart of the credit of channels."""

from typing import TYPE_CHECKING

from gold.rules.period_paths import PeriodCredit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INCHES = (8.0, 4.5)
_BAR = 0.8  # share of the space of a channel


def draw_credits(period: PeriodCredit) -> "Figure":
    """A bar chart of credited conversions in a period, by channel and model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.subplots()
    by_model = period.conversions
    channels = sorted({channel for of in by_model.values() for channel in of}, reverse=True)
    height = _BAR / len(by_model)
    for number, (model, of) in enumerate(by_model.items()):
        places = [place - (number - (len(by_model) - 1) / 2) * height for place in range(len(channels))]
        axes.barh(places, [of[channel] for channel in channels], height, label=model)
    axes.set_yticks(range(len(channels)), channels)
    axes.set_xlabel("conversions credited")
    axes.set_title(f"{period.start:%Y-%m-%d %H:%M} to {period.end:%Y-%m-%d %H:%M} UTC", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
