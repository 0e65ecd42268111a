"""JSON of which each object has one spelling, so that its bytes can be hashed and signed."""

import json
from collections.abc import Mapping
from typing import Any


def canonical(content: Mapping[str, Any], indent: int | None = None) -> bytes:
    """An object as JSON in UTF-8, with sorted names."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, indent=indent, separators=separators)
    return text.encode(errors="surrogatepass")


def parse_canonical(content: bytes, indent: int | None = None) -> dict[str, Any]:
    """The object.

    Raises:
        ValueError: if it is spelled in any other way.
    """
    found = json.loads(content)
    if not isinstance(found, dict) or canonical(found, indent) != content:
        raise ValueError("it is not spelled as it was written")
    return found
