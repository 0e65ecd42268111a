"""Size limits of a JSON value, checked before decoding: the decoder recurses on the C stack."""

import re
import sys

MAX_DEPTH = 1_000  # nested arrays and objects
MAX_KEY = 50_000  # characters of the raw text
MAX_TEXT = 20_000_000  # the same

_TOKEN = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[\[{]|[\]}]', re.DOTALL)


def is_within_limits(value: bytes) -> bool:
    """Whether a value can be decoded: limits of nesting depth and text length.

    Valid JSON is always checked correctly; an invalid value may be reported as too deep.

    Args:
        value: UTF-8.
    """
    if len(value) <= MAX_KEY and value.count(b"{") + value.count(b"[") <= MAX_DEPTH // 2:
        return True
    # the decoder's levels count against Python's recursion limit, as do those of its caller
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 3 * MAX_DEPTH))
    depth = 0
    for token in _TOKEN.finditer(value.decode()):
        text = token[1]
        if text is None:
            depth += 1 if token[0] in "[{" else -1
            if depth > MAX_DEPTH:
                return False
        elif len(text) > (MAX_KEY if token[2] else MAX_TEXT):
            return False
    return True
