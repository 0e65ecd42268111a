"""Reads the ids of the products that an event lists as shown, in order."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from folds.records.json_text import NOTHING, text_or_none
from folds.records.message import decode_part


class _Product(msgspec.Struct, gc=False):
    product_id: Raw = NOTHING


_NO_PRODUCT = _Product()
_NO_ENTRIES: list[Raw] = []
_decode_products = msgspec.json.Decoder(list[_Product]).decode
_decode_entries = msgspec.json.Decoder(list[Raw]).decode
_decode_product = msgspec.json.Decoder(_Product).decode


def product_ids(products: Raw) -> list[str | None] | None:
    """The product ids of a list as sent, with None for an entry without an id.

    Returns:
        The ids in order; None for an empty list, or a value that is not a list.
    """
    if products is NOTHING:
        return None
    return [text_or_none(each.product_id) for each in _entries(products)] or None


def _entries(products: Raw) -> Iterator[_Product]:
    try:
        yield from _decode_products(products)
    except msgspec.ValidationError:  # not a list, or a list with other values than objects
        for entry in decode_part(products, _decode_entries, _NO_ENTRIES):
            yield decode_part(entry, _decode_product, _NO_PRODUCT)
