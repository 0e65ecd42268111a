"""Colours for a light and a dark page: after Okabe and Ito, which colour-blind people can tell apart."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, as CSS writes them.

    Args:
        events: what came in.
        conversions: what came of it.
        sessions: visits.
        models: attribution models, in their order.
    """

    events: str
    conversions: str
    sessions: str
    models: tuple[str, ...]


LIGHT = Palette("#0072B2", "#D55E00", "#0072B2", ("#0072B2", "#E69F00", "#009E73"))
DARK = Palette("#56B4E9", "#F0883E", "#56B4E9", ("#56B4E9", "#E69F00", "#2BB892"))


def palette_of(theme: str | None) -> Palette:
    """The colours for Streamlit's theme type, `light` or `dark`."""
    return DARK if theme == "dark" else LIGHT
