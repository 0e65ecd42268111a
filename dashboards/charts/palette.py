"""Colours of the light and the dark theme, safe for colour-blind viewers (after Okabe and Ito)."""

from dataclasses import dataclass

CHANNELS = (
    "Direct",
    "Organic Search",
    "Paid Search",
    "Organic Social",
    "Paid Social",
    "Email",
    "Display",
    "Affiliates",
    "Referral",
    "AI Assistant",
    "Paid Other",
    "On-site",
)


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, as CSS values.

    Args:
        events: events and other inputs.
        conversions: conversions.
        more: positive changes.
        less: negative changes.
        quiet: background elements.
        text: text.
        series: colours of a series in order: models, campaigns, jobs.
        channels: colours in the order of `CHANNELS`. Other channels get the colour `quiet`.
    """

    events: str
    conversions: str
    more: str
    less: str
    quiet: str
    text: str
    series: tuple[str, ...]
    channels: tuple[str, ...]

    def of_channels(self, names: list[str]) -> list[str]:
        """The colours of channels. A channel has the same colour in all charts."""
        return [self.channels[CHANNELS.index(name)] if name in CHANNELS else self.quiet for name in names]


LIGHT = Palette(
    events="#0072B2",
    conversions="#D55E00",
    more="#0072B2",
    less="#D55E00",
    quiet="#9AA3AF",
    text="#31333F",
    series=("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"),
    channels=(
        "#7A828E",
        "#009E73",
        "#0072B2",
        "#B7A100",
        "#E69F00",
        "#D55E00",
        "#8A1F77",
        "#56B4E9",
        "#4B3F8F",
        "#C2304F",
        "#65500F",
        "#8B71E6",
    ),
)
DARK = Palette(
    events="#56B4E9",
    conversions="#F0883E",
    more="#56B4E9",
    less="#F0883E",
    quiet="#78818D",
    text="#FAFAFA",
    series=("#56B4E9", "#E69F00", "#2BB892", "#D98CBA", "#F0883E", "#A6D5F5"),
    channels=(
        "#A3ABB6",
        "#2BB892",
        "#3E9BDC",
        "#D9C92A",
        "#F2B134",
        "#F0883E",
        "#A92B8B",
        "#9AD4F7",
        "#9C8FE0",
        "#DE3B61",
        "#93612D",
        "#6C61E6",
    ),
)


def palette_of(theme: str | None) -> Palette:
    """The colours for Streamlit's theme type, `light` or `dark`."""
    return DARK if theme == "dark" else LIGHT
