"""The shop's products, promotions and search queries."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

HOST = "www.alderandfern.example"
"""The shop's host, a name reserved by RFC 2606."""

Item = TypeVar("Item")


class Popular(Generic[Item]):
    """Items with a Zipf distribution: the n-th is chosen about 1/n as often as the first."""

    def __init__(self, items: list[Item], exponent: float = 1.0) -> None:
        self.items = items
        self._weights = list(accumulate(1 / rank**exponent for rank in range(1, len(items) + 1)))

    def choose(self, rng: Random) -> Item:
        """Choose an item."""
        return rng.choices(self.items, cum_weights=self._weights)[0]


@dataclass(frozen=True)
class Product:
    """A product, with its price in euros."""

    product_id: str
    name: str
    category: str
    price: float

    @property
    def path(self) -> str:
        """Path of its page."""
        return f"/p/{self.product_id}"


@dataclass(frozen=True)
class Promotion:
    """A banner and its campaign."""

    promotion_id: str
    name: str
    creative: str
    category: str


_KINDS = {
    "lighting": ("lamp", "lantern", "candle holder", "pendant"),
    "textiles": ("throw", "cushion", "rug", "curtain", "towel"),
    "kitchen": ("teapot", "mug", "bowl", "board", "knife", "kettle"),
    "garden": ("planter", "trowel", "bench", "watering can"),
    "storage": ("basket", "shelf", "box", "hook"),
    "stationery": ("notebook", "pen", "calendar"),
}
_STYLES = ("oak", "linen", "brass", "stoneware", "wool", "birch", "slate", "cork", "enamel", "glass")

CATEGORIES = Popular(list(_KINDS))


def _products() -> list[Product]:
    """All combinations of kind, name and style, in pseudo-random order and with pseudo-random prices."""
    rng = Random("catalogue")
    pairs = [(kind, name, style) for kind, names in _KINDS.items() for name in names for style in _STYLES]
    rng.shuffle(pairs)
    return [
        Product(f"{kind[:2]}{number:04d}", f"{style} {name}", kind, round(rng.lognormvariate(3.2, 0.7), 2))
        for number, (kind, name, style) in enumerate(pairs, start=1)
    ]


PRODUCTS = Popular(_products(), 0.9)

QUERIES = Popular(
    [name for names in _KINDS.values() for name in names]
    + [f"{style} {names[0]}" for style in _STYLES for names in _KINDS.values()]
    + ["gift", "sale", "gift card", "opening hours", "returns", "Teelicht", "théière", "lampp"],
    0.8,
)

_PAGE = 12  # results of a search


@lru_cache(maxsize=1024)
def find_products(query: str) -> tuple[Product, ...]:
    """The first page of results: products with words of the query in their names, best matches first."""
    words = set(query.split())
    shared = [(len(words & set(product.name.split())), product) for product in PRODUCTS.items]
    found = sorted((pair for pair in shared if pair[0]), key=lambda pair: -pair[0])
    return tuple(product for _, product in found[:_PAGE])


PROMOTIONS = Popular(
    [
        Promotion("spring-sale", "Spring sale", "hero", "garden"),
        Promotion("free-shipping", "Free shipping", "ribbon", "kitchen"),
        Promotion("new-linen", "New linen", "hero", "textiles"),
        Promotion("lamp-week", "Lamp week", "tile", "lighting"),
        Promotion("club", "Join the club", "tile", "stationery"),
        Promotion("last-chance", "Last chance", "tile", "storage"),
    ],
    0.7,
)
