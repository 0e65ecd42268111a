"""Reads the products that an event lists: those it shows, or those of an order."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from folds.records.json_text import NOTHING, text_or_none
from folds.records.message import decode_part


class Line(NamedTuple):
    """A product of an order.

    Args:
        product_id: as text.
        quantity: as text; None if there is none.
    """

    product_id: str
    quantity: str | None


class _Product(msgspec.Struct, gc=False):
    product_id: Raw = NOTHING


class _Line(msgspec.Struct, gc=False):
    product_id: Raw = NOTHING
    quantity: Raw = NOTHING


class _Properties(msgspec.Struct, gc=False):
    products: Raw = NOTHING


_Entry = TypeVar("_Entry")
_NO_PRODUCT, _NO_LINE = _Product(), _Line()
_NO_ENTRIES: list[Raw] = []
_decode_products = msgspec.json.Decoder(list[_Product]).decode
_decode_entries = msgspec.json.Decoder(list[Raw]).decode
_decode_product = msgspec.json.Decoder(_Product).decode
_decode_lines = msgspec.json.Decoder(list[_Line]).decode
_decode_line = msgspec.json.Decoder(_Line).decode
_decode_properties = msgspec.json.Decoder(_Properties).decode


def product_ids(products: Raw) -> list[str | None] | None:
    """The product ids of a list as sent, with None for an entry without an id.

    Returns:
        The ids in order; None for an empty list, or a value that is not a list.
    """
    if products is NOTHING:
        return None
    found = _entries(products, _decode_products, _decode_product, _NO_PRODUCT)
    return [text_or_none(each.product_id) for each in found] or None


def lines(properties: str) -> list[Line]:
    """The entries with a product id in `products`, in order.

    Args:
        properties: of silver.events: the JSON text of an object.
    """
    listed = _decode_properties(properties).products
    found = _entries(listed, _decode_lines, _decode_line, _NO_LINE)
    named = ((text_or_none(each.product_id), text_or_none(each.quantity)) for each in found)
    return [Line(product_id, quantity) for product_id, quantity in named if product_id is not None]


def _entries(
    products: Raw, decode_all: Callable[[Raw], list[_Entry]], decode: Callable[[Raw], _Entry], nothing: _Entry
) -> Iterator[_Entry]:
    """The entries of a list as sent; `nothing` for one that is not an object."""
    try:
        yield from decode_all(products)
    except msgspec.ValidationError:  # not a list, or a list with other values than objects
        for entry in decode_part(products, _decode_entries, _NO_ENTRIES):
            yield decode_part(entry, decode, nothing)
