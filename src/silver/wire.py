"""The wire format: bytes of a record to the fields of an event.

There are two ways to read one. The quick way is right for nearly all, and says of which it can't be sure. The
careful way is right for all, at several times the cost.
"""

import secrets
from collections.abc import Callable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from silver.numbers import guard_numbers, is_rewritten, looks_rewritten, mark_for, restore_numbers
from silver.rules.roles import RoleRules
from silver.steps import Steps

# JSON as RFC 8259 has it: Spark's reader takes more unless told.
_STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
# What must follow the object: a mark that nobody can write into a value, being new in each process.
_END = secrets.token_hex(16)
_TEXTS = (
    *("messageId", "type", "event", "anonymousId", "userId"),
    *("originalTimestamp", "sentAt", "receivedAt", "timestamp"),
)
# Objects are read as text first: the reader takes the last of two objects, where the last value should win.
_OUTER = ", ".join(f"{name}: string" for name in (*_TEXTS, "context", "properties"))
_CONTEXT = "page string, campaign string, userAgent string"
_PAGE, _CAMPAIGN = ("url", "referrer"), ("source", "medium", "name")
_KEPT = ("messageId", "event", "anonymousId", "userId")  # texts that an event keeps as they are
# From one unpaired surrogate to the next, over other escapes and pairs.
_UNPAIRED = (
    r"\G((?:[^\\]++|\\(?!u[dD][89a-fA-F])(?s:.)|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)*+)\\u[dD][89a-fA-F].."
)
_IsObject = Callable[[str, Column], Column]


def decode_object(fields: str) -> Steps:
    """Read each record's value as one JSON object.

    The value is parsed as the first element of an array whose second is a mark, so that anything but
    white space after the object is seen, in one pass. The last of duplicate keys wins; where text is
    expected anything else is its JSON text.

    Args:
        fields: names of what is wanted of it, each a string, as in SQL.

    Returns:
        From `raw`, the value's bytes, to `message`, a struct of the fields, null if the value is not one
        JSON object.
    """
    return [{"_text": _text()}, *_read_whole(fields), {"message": F.col("_read")}]


def _text() -> Column:
    """The value as text, null if it is none."""
    text = F.col("raw").cast("string")
    return F.when(F.is_valid_utf8(text), text)


def _read_whole(fields: str) -> Steps:
    """To `_read`, what `_text` says as one object."""
    marked = F.concat(F.lit("["), F.col("_text"), F.lit(f',{{"{_END}":""}}]'))
    both = F.from_json(marked, f"array<struct<{fields}, `{_END}`: string>>", _STRICT)
    whole = (F.size("_both") == 2) & F.col("_both")[1][_END].isNotNull()
    return [{"_both": both}, {"_read": F.when(whole, F.col("_both")[0])}]


def decode_quickly(rules: RoleRules) -> Steps:
    """Read each record's value as the message of an event.

    Args:
        rules: which properties to read.

    Returns:
        From `raw`, the value's bytes, to `message`, a struct of the wire format's texts, null if the value is
        not one JSON object in UTF-8; `page`, `campaign` and `known`, structs of what is read of the page, the
        campaign and the properties, each as text; `agent`; `properties`, their JSON text, `{}` if they are
        there and no object; and `unsure`: whether it takes `decode_carefully` to read the value.
    """
    fields = {
        "message": F.col("_read"),
        "page": F.col("_parts")[0],
        "campaign": F.col("_parts")[1],
        "known": F.col("_parts")[2],
        "agent": F.col("_context.userAgent"),
        "properties": F.col("_properties"),
        "unsure": _is_unsure(),
    }
    return [{"_text": _text()}, *_read_parts(rules, lambda _, sent: sent.startswith("{")), fields]


def decode_carefully(rules: RoleRules) -> Steps:
    """The same for any record, with `unsure` false."""
    mark = F.col("_mark")

    def is_object(path: str, sent: Column) -> Column:
        value = F.try_variant_get(_variant(F.col("_text")), path, "map<string, variant>")
        return sent.startswith("{") & value.isNotNull()

    message = _restored(F.col("_read"), _TEXTS, mark)
    fields = {
        "message": F.when(F.col("_read").isNotNull(), message),
        "page": _restored(F.col("_parts")[0], _PAGE, mark),
        "campaign": _restored(F.col("_parts")[1], _CAMPAIGN, mark),
        "known": _restored(F.col("_parts")[2], _names(rules), mark),
        "agent": restore_numbers(F.col("_context.userAgent"), mark),
        "properties": restore_numbers(F.col("_properties"), mark),
        "unsure": F.lit(False),
    }
    return [
        {"_utf8": _text()},
        {"_mark": mark_for(F.col("_utf8"), F.md5("raw"))},
        {"_text": guard_numbers(F.col("_utf8"), mark)},
        *_read_parts(rules, is_object),
        fields,
    ]


def _read_parts(rules: RoleRules, is_object: _IsObject) -> Steps:
    """To `_read`, `_context`, `_properties` (as sent) and `_parts`, read of all."""
    nothing = F.lit("{}")

    def object_or_nothing(path: str, sent: Column) -> Column:
        return F.when(is_object(path, sent), sent).otherwise(nothing)

    context = object_or_nothing("$.context", F.col("_read.context"))
    properties = object_or_nothing("$.properties", F.col("_read.properties"))
    pieces = {
        "_page": object_or_nothing("$.context.page", F.col("_context.page")),
        "_campaign": object_or_nothing("$.context.campaign", F.col("_context.campaign")),
        "_properties": F.when(F.col("_read.properties").isNotNull(), properties),
    }
    names = ", ".join(f"`{name}`: string" for name in sorted({*_PAGE, *_CAMPAIGN, *_names(rules)}))
    texts = (F.col("_page"), F.col("_campaign"), F.coalesce("_properties", nothing))
    together = F.concat(F.lit("["), F.concat_ws(",", *texts), F.lit("]"))
    return [
        *_read_whole(_OUTER),
        {"_context": F.from_json(context, _CONTEXT, _STRICT)},
        pieces,
        {"_parts": F.from_json(together, f"array<struct<{names}>>", _STRICT)},
    ]


def _is_unsure() -> Column:
    """Whether text may pass for an object, or a number may not be as written."""
    text = F.col("_text")
    unclear = text.contains('"{') | text.contains('"\\u007')
    kept = [F.col(f"_read.{name}") for name in _KEPT]
    kept += [F.col("_parts")[0][name] for name in _PAGE]
    kept += [F.col("_parts")[1][name] for name in _CAMPAIGN]
    rewritten = looks_rewritten(F.col("_properties"), [*kept, F.col("_context.userAgent")])
    suspect = F.col("_read").isNull() | rewritten
    return F.coalesce(unclear | (suspect & is_rewritten(text)), F.lit(False))


def _restored(of: Column, names: Sequence[str], mark: Column) -> Column:
    return F.struct(*(restore_numbers(of[name], mark).alias(name) for name in names))


def _variant(text: Column) -> Column:
    """The JSON as a variant, which can't hold an unpaired surrogate; the reader makes it a question mark."""
    return F.try_parse_json(F.regexp_replace(text, _UNPAIRED, "$1?"))


def _names(rules: RoleRules) -> list[str]:
    return sorted({*rules.properties, "url", "referrer"})


def text_or_null(column: Column) -> Column:
    """Text that isn't empty, else null."""
    return F.nullif(column, F.lit(""))
