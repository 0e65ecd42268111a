"""Numbers as they are written: Spark's JSON reader, left to itself, writes them anew.

It makes 1.10 into 1.1 and 12345678.5 into 1.23456785E7, drops digits beyond the 17th, and refuses a whole
value for a number of more than 1,000. So what it would change is made text before it reads, and a number
again after.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

_END = r"\s*+[,}\]]"
# Left as they are: up to six digits, a point and up to three more, the last not 0: most of money.
_STEADY = r"\d{1,6}+\.\d{0,2}[1-9]" + _END
_FRACTION = r"\d++(?:\.\d++(?:[eE][+-]?+\d++)?+|[eE][+-]?+\d++)" + _END
_UNSTEADY = rf"[:,\[]\s*+(?:-0{_END}|-?+(?!{_STEADY}){_FRACTION}|-?\d{{300}})"
# From one number to the next, over strings as a whole. What is no number by the grammar ends it: not JSON.
_BETWEEN = r'((?:[^"\d-]++|"(?:[^"\\]++|\\.)*+")*+)'
_NUMBER = r"(-?+(?:0|[1-9]\d*+)(?:\.\d++)?+(?:[eE][+-]?+\d++)?+)"
_NEXT = rf"\G{_BETWEEN}{_NUMBER}(?={_END})"


# What the reader makes of a number that it writes anew; in an object's text there is no white space.
_ANEW_WITHIN = r'[:,\[](?:-?+\d++[.eE]|0[,}\]]|"-?Infinity")'
_ANEW_ALONE = r'^(?:-?+\d++[.eE]|0\z|"-?Infinity")'


def is_rewritten(text: Column) -> Column:
    """Whether JSON has a number that the reader would change."""
    return text.rlike(_UNSTEADY)


def looks_rewritten(within: Column, alone: Sequence[Column]) -> Column:
    """Whether what was read may come from a number that the reader has changed. Quick, and often wrong.

    Args:
        within: an object's JSON text.
        alone: texts.
    """
    # By code point all that a number, or a quoted one, begins with lies before the colon.
    scalars = [(text < ":") & text.rlike(_ANEW_ALONE) for text in alone]
    structures = [text.startswith(opened) for text in alone for opened in "{["]
    signs = [within.rlike(_ANEW_WITHIN), *scalars, *structures]
    return reduce(or_, [F.coalesce(sign, F.lit(False)) for sign in signs])


def mark_for(text: Column, digest: Column) -> Column:
    """What to mark a value's numbers with; null if reading changes none of them.

    Args:
        text: JSON.
        digest: of the text, so that nobody can write the mark into it.
    """
    return F.when(is_rewritten(text), F.concat(F.lit("#"), digest))


def guard_numbers(text: Column, mark: Column) -> Column:
    """The JSON with every number as a string between two marks; as it is without a mark."""
    quoted = F.concat(F.lit('$1"'), mark, F.lit("$2"), mark, F.lit('"'))
    return F.when(mark.isNull(), text).otherwise(F.regexp_replace(text, F.lit(_NEXT), quoted))


def restore_numbers(column: Column, mark: Column) -> Column:
    """Text that was read from guarded JSON, with its numbers as they were."""
    nothing, quote = F.lit(""), F.lit('"')
    opened = F.replace(column, F.concat(quote, mark), nothing)
    closed = F.replace(opened, F.concat(mark, quote), nothing)
    return F.when(mark.isNull(), column).otherwise(F.replace(closed, mark, nothing))
