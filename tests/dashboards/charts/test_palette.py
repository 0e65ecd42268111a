"""Channel colours are unique and distinguishable in both themes, also with colour blindness."""

from itertools import combinations, pairwise

import pytest
import yaml
from charts.palette import CHANNELS, DARK, LIGHT, Palette

from folds.visitors.promotions import ON_SITE
from lakehouse.bundle_file import bundle_root

THEMES = {"light": (LIGHT, "#FFFFFF"), "dark": (DARK, "#171614")}  # with Streamlit's background
Colour = tuple[float, float, float]

# Machado, Oliveira, Fernandes 2009, severity 1; on linear light.
PROTANOPIA = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
NORMAL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def linear(colour: str) -> Colour:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return red, green, blue


def multiply(matrix: tuple[Colour, ...], light: Colour) -> Colour:
    red, green, blue = (sum(a * b for a, b in zip(row, light, strict=True)) for row in matrix)
    return red, green, blue


def to_oklab(colour: str, eyes: tuple[Colour, ...]) -> Colour:
    """Converts a colour to Oklab, whose distances match perceived differences."""
    light = multiply(eyes, linear(colour))
    cones = multiply(
        (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        ),
        light,
    )
    roots = tuple(max(cone, 0.0) ** (1 / 3) for cone in cones)
    return multiply(
        (
            (0.2104542553, 0.7936177850, -0.0040720468),
            (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660),
        ),
        roots,  # type: ignore[arg-type]
    )


def distance(one: str, other: str, eyes: tuple[Colour, ...]) -> float:
    pairs = zip(to_oklab(one, eyes), to_oklab(other, eyes), strict=True)
    return sum((a - b) ** 2 for a, b in pairs) ** 0.5


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def colours(palette: Palette) -> dict[str, str]:
    names = sorted(CHANNELS)
    return dict(zip(names, palette.of_channels(names), strict=True))


def test_every_channel_has_a_unique_colour() -> None:
    rules = yaml.safe_load((bundle_root() / "conf" / "channels.yml").read_text(encoding="utf-8"))
    made = {rule["channel"] for rule in rules["rules"]} | {rules["otherwise"], ON_SITE}
    assert set(CHANNELS) == made
    for palette, _ in THEMES.values():
        assert len({*colours(palette).values(), palette.quiet}) == len(CHANNELS) + 1
        assert palette.of_channels(["a channel of one's own"]) == [palette.quiet]


@pytest.mark.parametrize("theme", THEMES)
def test_channel_colours_contrast_with_page_background(theme: str) -> None:
    palette, page = THEMES[theme]
    for name, colour in colours(palette).items():
        light, dark = sorted((luminance(colour), luminance(page)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 2.2, name


@pytest.mark.parametrize("theme", THEMES)
def test_channel_colours_are_distinguishable(theme: str) -> None:
    shown = colours(THEMES[theme][0])
    for one, other in combinations(shown, 2):
        assert distance(shown[one], shown[other], NORMAL) > 0.07, (one, other)


@pytest.mark.parametrize("eyes", [PROTANOPIA, DEUTERANOPIA])
@pytest.mark.parametrize("theme", THEMES)
def test_adjacent_channel_colours_are_distinguishable_with_colour_blindness(
    theme: str, eyes: tuple[Colour, ...]
) -> None:
    """Charts order channels alphabetically, so neighbours are adjacent names."""
    shown = colours(THEMES[theme][0])
    for one, other in pairwise(shown):
        assert distance(shown[one], shown[other], eyes) > 0.1, (one, other)
