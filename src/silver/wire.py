"""The wire format: bytes of a record to the fields of an event."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from silver.rules.roles import RoleRules

# JSON as RFC 8259 has it: Spark's reader takes more unless told.
_STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
# What must follow the object: a mark that nobody can write into a value, being the value's own digest.
_MARK = "\\u0000end"
_FIELDS = (
    "messageId: string, type: string, event: string, anonymousId: string, userId: string, "
    "originalTimestamp: string, sentAt: string, receivedAt: string, timestamp: string, "
    "context: struct<"
    "page: struct<url: string, referrer: string>, "
    "campaign: struct<source: string, medium: string, name: string>, "
    "userAgent: string>, "
    "properties: string"
)


def decode_values(records: DataFrame) -> DataFrame:
    """Read each record's value as the message of an event.

    Args:
        records: with `raw`, the value's bytes.

    Returns:
        The same rows with `message`, a struct of the wire format's fields, null if the value is not one
        JSON object in UTF-8, and `properties`, their JSON text: `{}` if they are there and no object.
    """
    read = decode_objects(records, _FIELDS)
    return read.withColumn("properties", _properties(F.col("message.properties"), _text(), _marked()))


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
    both = F.from_json(_marked(), f"array<struct<{fields}, `\0end`: string>>", _STRICT)
    whole = (F.size("both") == 2) & (F.col("both")[1]["\0end"] == F.md5("raw"))
    read = records.withColumn("both", both).withColumn("message", F.when(whole, F.col("both")[0]))
    return read.drop("both")


def _text() -> Column:
    return F.when(F.is_valid_utf8(F.col("raw").cast("string")), F.col("raw").cast("string"))


def _marked() -> Column:
    return F.concat(F.lit("["), _text(), F.lit(f',{{"{_MARK}":"'), F.md5("raw"), F.lit('"}]'))


def _properties(sent: Column, text: Column, marked: Column) -> Column:
    """The properties as JSON text. Text that looks like an object is none: rarely looked at twice."""
    suspect = text.contains('"{') | text.contains('"\\u007')
    shape = F.from_json(marked, "array<struct<properties: struct<`\0any`: string>>>", _STRICT)
    is_object = F.when(suspect, shape[0]["properties"].isNotNull()).otherwise(F.lit(True))
    return F.when(sent.startswith("{") & is_object, sent).when(sent.isNotNull(), F.lit("{}"))


def decode_properties(properties: Column, rules: RoleRules) -> Column:
    """The properties that rules read, each as text, in a struct; nulls where there are none."""
    names = sorted({*rules.properties, "url", "referrer"})
    return F.from_json(properties, ", ".join(f"`{name}` string" for name in names), _STRICT)


def text_or_null(column: Column) -> Column:
    """Text that isn't empty, else null."""
    return F.nullif(column, F.lit(""))
