"""The wire format: bytes of a record to the fields of an event."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from silver.numbers import guard_numbers, mark_for, restore_numbers
from silver.rules.roles import RoleRules

# JSON as RFC 8259 has it: Spark's reader takes more unless told.
_STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
# What must follow the object: a mark that nobody can write into a value, being the value's own digest.
_MARK = "\\u0000end"
_TEXTS = (
    *("messageId", "type", "event", "anonymousId", "userId"),
    *("originalTimestamp", "sentAt", "receivedAt", "timestamp"),
)
_PARTS = {"page": ("url", "referrer"), "campaign": ("source", "medium", "name")}
_CONTEXT = "struct<page: struct<{}>, campaign: struct<{}>, userAgent: string>".format(
    *(", ".join(f"{name}: string" for name in names) for names in _PARTS.values())
)
_FIELDS = ", ".join(f"{name}: string" for name in (*_TEXTS, "properties")) + f", context: {_CONTEXT}"
_OBJECTS = ("context", *_PARTS)
_STEPS = ("_utf8", "_digest", "_mark", "_text", "_read", "_context", "_properties", "_known")
_SPACED = rf'"(?:{"|".join(_OBJECTS)})"\s'
# From one unpaired surrogate to the next, over other escapes and pairs.
_UNPAIRED = (
    r"\G((?:[^\\]++|\\(?!u[dD][89a-fA-F])(?s:.)|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)*+)\\u[dD][89a-fA-F].."
)


def decode_objects(records: DataFrame, fields: str) -> DataFrame:
    """Read each record's value as one JSON object.

    The value is parsed as the first element of an array whose second is a mark, so that anything but
    white space after the object is seen, in one pass. The last of duplicate keys wins; where text is
    expected anything else is its JSON text; where an object is expected anything else is null.

    Args:
        records: with `raw`, the value's bytes.
        fields: names and types of what is wanted of it, as in SQL.

    Returns:
        The same rows with `message`, a struct of the fields, null if the value is not one JSON object.
    """
    read = _read_whole(_as_text(records).withColumnRenamed("_utf8", "_text"), fields)
    return read.withColumnRenamed("_read", "message").drop("_text", "_digest")


def _as_text(records: DataFrame) -> DataFrame:
    """The rows with `_utf8`, the value as text, null if it is none, and `_digest`, the value's."""
    text = F.col("raw").cast("string")
    return records.withColumns({"_utf8": F.when(F.is_valid_utf8(text), text), "_digest": F.md5("raw")})


def _read_whole(records: DataFrame, fields: str) -> DataFrame:
    """The rows with `_read`, what `_text` says as one object."""
    marked = F.concat(F.lit("["), F.col("_text"), F.lit(f',{{"{_MARK}":"'), F.col("_digest"), F.lit('"}]'))
    both = F.from_json(marked, f"array<struct<{fields}, `\0end`: string>>", _STRICT)
    whole = (F.size("_both") == 2) & (F.col("_both")[1]["\0end"] == F.col("_digest"))
    return (
        records.withColumn("_both", both).withColumn("_read", F.when(whole, F.col("_both")[0])).drop("_both")
    )


def decode_values(records: DataFrame, rules: RoleRules) -> DataFrame:
    """Read each record's value as the message of an event.

    Args:
        records: with `raw`, the value's bytes.
        rules: which properties to read.

    Returns:
        The same rows with `message`, a struct of the wire format's fields, null if the value is not one
        JSON object in UTF-8; `known`, a struct of the properties that rules read, each as text; and
        `properties`, their JSON text: `{}` if they are there and no object.
    """
    mark = F.col("_mark")
    guarded = (
        _as_text(records)
        .withColumn("_mark", mark_for(F.col("_utf8"), F.col("_digest")))
        .withColumn("_text", guard_numbers(F.col("_utf8"), mark))
    )
    read = (
        _read_whole(guarded, _FIELDS)
        .withColumn("_context", _context(F.col("_read.context"), F.col("_text")))
        .withColumn("_properties", _properties(F.col("_read.properties"), F.col("_text")))
        .withColumn("_known", _known(F.col("_properties"), rules))
    )
    fields = {
        "message": F.when(F.col("_read").isNotNull(), _message(mark)),
        "known": _restored("_known", _names(rules), mark),
        "properties": restore_numbers(F.col("_properties"), mark),
    }
    return read.withColumns(fields).drop(*_STEPS)


def _message(mark: Column) -> Column:
    parts = [_restored(f"_context.{part}", names, mark).alias(part) for part, names in _PARTS.items()]
    agent = restore_numbers(F.col("_context.userAgent"), mark).alias("userAgent")
    texts = [restore_numbers(F.col(f"_read.{name}"), mark).alias(name) for name in _TEXTS]
    return F.struct(*texts, F.struct(*parts, agent).alias("context"))


def _restored(of: str, names: Sequence[str], mark: Column) -> Column:
    return F.struct(*(restore_numbers(F.col(f"{of}.`{name}`"), mark).alias(name) for name in names))


def _context(read: Column, text: Column) -> Column:
    """The context. The reader takes the last object, not the last value: rarely looked at twice."""
    last = F.try_variant_get(_variant(text), "$.context", _CONTEXT)
    return F.when(_may_repeat(text), last).otherwise(read)


def _may_repeat(text: Column) -> Column:
    """Whether an object's key may be there twice, perhaps written with escapes. Quick, and seldom wrong."""
    keys = [f'"{name}":' for name in _OBJECTS]
    twice = [F.substring_index(text, key, 2) != text for key in keys]
    escaped = text.contains("\\u006") | text.contains("\\u007")
    return reduce(Column.__or__, twice) | escaped | text.rlike(_SPACED)


def _properties(sent: Column, text: Column) -> Column:
    """The properties as JSON text. Text that looks like an object is none: rarely looked at twice."""
    suspect = text.contains('"{') | text.contains('"\\u007')
    as_object = F.try_variant_get(_variant(text), "$.properties", "map<string, variant>")
    is_object = F.when(suspect, as_object.isNotNull()).otherwise(F.lit(True))
    return F.when(sent.startswith("{") & is_object, sent).when(sent.isNotNull(), F.lit("{}"))


def _variant(text: Column) -> Column:
    """The JSON as a variant, which can't hold an unpaired surrogate; the reader makes it a question mark."""
    return F.try_parse_json(F.regexp_replace(text, _UNPAIRED, "$1?"))


def _known(properties: Column, rules: RoleRules) -> Column:
    return F.from_json(properties, ", ".join(f"`{name}` string" for name in _names(rules)), _STRICT)


def _names(rules: RoleRules) -> list[str]:
    return sorted({*rules.properties, "url", "referrer"})


def text_or_null(column: Column) -> Column:
    """Text that isn't empty, else null."""
    return F.nullif(column, F.lit(""))
