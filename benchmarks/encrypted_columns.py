"""What does Parquet's own encryption of a column cost, and who can read the file then?"""

import base64
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
from deltalake import DeltaTable, convert_to_deltalake

from benchmarks.bench import print_table

ROWS, RUNS = 1_000_000, 10
_KEYS = pe.KmsConnectionConfig()
_WANTED = pe.EncryptionConfiguration(
    footer_key="footer", column_keys={"persons": ["visitor_id"]}, plaintext_footer=True
)


class _NoKms(pe.KmsClient):
    """Stands for a KMS: keys of files are stored as they are."""

    def wrap_key(self, key: bytes, _: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, _: str) -> bytes:
        return base64.b64decode(wrapped)


def main() -> None:
    """Write and read a file with and without encryption of `visitor_id`, then read it without the key."""
    rows = pa.table(
        {"visitor_id": [f"v-{number:032d}" for number in range(ROWS)], "amount": list(range(ROWS))}
    )
    crypto = pe.CryptoFactory(lambda _: _NoKms())
    with tempfile.TemporaryDirectory() as folder:
        plain, encrypted = Path(folder, "plain.parquet"), Path(folder, "table", "encrypted.parquet")
        encrypted.parent.mkdir()

        def write(path: Path) -> None:
            properties = crypto.file_encryption_properties(_KEYS, _WANTED) if path == encrypted else None
            with pq.ParquetWriter(path, rows.schema, encryption_properties=properties) as writer:
                writer.write_table(rows)

        def read(path: Path) -> None:
            properties = crypto.file_decryption_properties(_KEYS) if path == encrypted else None
            pq.ParquetFile(path, decryption_properties=properties).read()

        times = [
            (what, *(f"{least:.3f}" for least in _least_seconds(does, (plain, encrypted))))
            for what, does in (("write", write), ("read", read))
        ]
        columns = ["", "plain", "visitor_id encrypted"]
        print_table(f"{ROWS:,} rows of two columns, least s of {RUNS} runs", columns, times)
        convert_to_deltalake(str(encrypted.parent))
        readers: dict[str, Callable[[str], Any]] = {
            "polars": lambda name: pl.scan_parquet(encrypted).select(pl.col(name).max()).collect(),
            "DuckDB": lambda name: duckdb.sql(f"SELECT max({name}) FROM '{encrypted}'").fetchall(),
            "deltalake": lambda name: DeltaTable(encrypted.parent).to_pyarrow_table(columns=[name]),
        }
        found = [
            (reader, *(_outcome(read, name) for name in ("amount", "visitor_id")))
            for reader, read in readers.items()
        ]
        print_table("without the key", ["", "amount", "visitor_id"], found)


def _least_seconds(does: Callable[[Path], None], files: Sequence[Path]) -> list[float]:
    """The shortest run for each file; runs of the files take turns."""
    taken: dict[Path, list[float]] = {file: [] for file in files}
    for file in [*files] * RUNS:
        start = time.monotonic()
        does(file)
        taken[file].append(time.monotonic() - start)
    return [min(taken[file]) for file in files]


def _outcome(read: Callable[[str], Any], name: str) -> str:
    try:
        read(name)
    except Exception as error:  # noqa: BLE001
        return " ".join(str(error).split())[:45]
    return "read"


if __name__ == "__main__":
    main()
