"""Values of a column that are known by keyed hashes alone; Spark's tasks compute the hashes."""

from collections.abc import Collection, Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.erasure.keyed_hash import KeyedHash


def with_hash(rows: DataFrame, column: str, kind: str, key: bytes, hashes: Collection[str]) -> Iterator[str]:
    """Values with one of the hashes.

    Args:
        rows: the values, each once.
        column: their column.
        kind: what is hashed with each value, as in `privacy.requests.register.Register.hash_of`.
        key: of the hashes.
        hashes: in hexadecimal digits.
    """
    found = F.lower(F.hex(KeyedHash(key).column(kind, F.col(column))))
    yield from (value for (value,) in rows.where(found.isin(list(hashes))).select(column).collect())
