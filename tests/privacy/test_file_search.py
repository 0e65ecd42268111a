"""Identifiers are found in files of each format, with their counts, and in no other file."""

import gzip
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from random import Random

import lz4.block
import lz4.frame
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.planted_identifiers import IDENTIFIERS, SPELLINGS, filler
from privacy.search.file_search import FileResult, search_file
from privacy.search.home_search import search_home
from privacy.search.matching.compressed import CHUNK
from privacy.search.matching.matcher import Matcher
from privacy.search.places import Unread

ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
SEEDS = st.integers(0, 2**32)
REPEATED = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])


def search(path: Path, *identifiers: str) -> FileResult:
    return search_file(Matcher(identifiers), path, lambda _: None)


def _spark_lz4(content: bytes) -> bytes:
    packed = lz4.block.compress(content, store_size=False)
    sizes = len(packed).to_bytes(4, "little") + len(content).to_bytes(4, "little")
    return b"LZ4Block\x26" + sizes + bytes(4) + packed + b"LZ4Block\x26" + bytes(12)


def _snappy(content: bytes) -> bytes:
    return bytes(pa.compress(content, "snappy", asbytes=True))


def _snappy_blocks(content: bytes) -> bytes:
    packed = _snappy(content)
    return b"\x82SNAPPY\x00" + bytes(8) + len(packed).to_bytes(4, "big") + packed


def _snappy_frames(content: bytes) -> bytes:
    packed = bytes(4) + _snappy(content)
    return b"\xff\x06\x00\x00sNaPpY\x00" + len(packed).to_bytes(3, "little") + packed


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "two gzip members": lambda content: gzip.compress(b"first ") + gzip.compress(content),
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
    "lz4 of Spark": _spark_lz4,
    "snappy with a frame": _snappy_frames,
    "snappy of Java": _snappy_blocks,
    "gzip in zstd": lambda content: zstandard.ZstdCompressor().compress(gzip.compress(content)),
}


@pytest.mark.parametrize("compression", COMPRESSIONS)
@REPEATED
@given(identifier=IDENTIFIERS, seed=SEEDS)
def test_identifier_is_found_in_compressed_file(
    tmp_path: Path, compression: str, identifier: str, seed: int
) -> None:
    chance = Random(seed)
    words = b" ".join(b"word %d" % chance.randrange(1000) for _ in range(2000))
    content = words + b" " + (identifier + " ").encode() * 2 + words
    file = tmp_path / "log"
    file.write_bytes(COMPRESSIONS[compression](content))
    found = search(file, identifier)
    assert found.problem == ""
    assert found.counts["decompressed", "text"] == 2
    assert search(file, "another-1234567").counts == {}


@pytest.mark.parametrize("spelling", ["plain", "all escaped", "UTF-16 LE", "Base64"])
def test_identifier_is_found_across_the_border_of_what_is_read_at_once(tmp_path: Path, spelling: str) -> None:
    chance = Random(1)
    spelled = SPELLINGS[spelling][1](ID, chance)
    file = tmp_path / "log"
    for before in (0, 1, len(spelled) // 2, len(spelled) - 1, len(spelled)):
        file.write_bytes(filler(chance, CHUNK - before) + spelled + filler(chance, 100))
        assert search(file, ID).counts == {("", SPELLINGS[spelling][0]): 1}


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize("dictionary", [True, False])
@REPEATED
@given(identifier=IDENTIFIERS, seed=SEEDS)
def test_identifier_is_counted_in_values_of_parquet(
    tmp_path: Path, codec: str, dictionary: bool, identifier: str, seed: int
) -> None:
    chance = Random(seed)
    others = [f"other-{number}-{chance.randrange(10**9)}" for number in range(30)]
    rows = chance.randrange(1, 400)
    ids = [identifier if chance.random() < 0.1 else chance.choice(others) for _ in range(rows)]
    texts = [
        b"{" + SPELLINGS[name][1](identifier, chance) + b"}" if chance.random() < 0.1 else None
        for name in chance.choices(list(SPELLINGS), k=rows)
    ]
    nested = [[{"who": each, "at": 1}] * chance.randrange(3) for each in ids]
    file = tmp_path / "part.parquet"
    table = pa.table({"visitor_id": ids, "properties": pa.array(texts, pa.binary()), "steps": nested})
    version, group = chance.choice(("1.0", "2.0")), chance.choice((7, 100, 1000))
    pq.write_table(
        table,
        file,
        compression=codec,
        use_dictionary=dictionary,
        data_page_version=version,
        row_group_size=group,
        data_page_size=200,
    )
    found = Counter[str]()
    for (part, _), count in search(file, identifier).counts.items():
        found[part] += count
    assert found.pop("footer", 0) >= (identifier in (min(ids), max(ids)))
    expected = {
        "column visitor_id": ids.count(identifier),
        "column properties": sum(text is not None for text in texts),
        "column steps.who": sum(step["who"] == identifier for steps in nested for step in steps),
    }
    assert found == {part: count for part, count in expected.items() if count}
    assert search(file, "another-1234567").counts == {}


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_identifier_is_found_in_each_encoding_of_parquet(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "part.parquet"
    ids = [f"{ID[:-2]}{number:02}" for number in range(10)]
    table = pa.table({"visitor_id": ids})
    pq.write_table(table, file, use_dictionary=False, column_encoding={"visitor_id": encoding})
    assert search(file, ids[5]).counts["column visitor_id", "text"] == 1


def test_value_of_a_dictionary_that_no_row_has_is_found(tmp_path: Path) -> None:
    file = tmp_path / "part.parquet"
    column = pa.DictionaryArray.from_arrays(pa.array([0, 2, 2]), pa.array(["a", ID, "z"]))
    pq.write_table(pa.table({"visitor_id": column}), file, compression="zstd", store_schema=False)
    assert search(file, ID).counts == {("column visitor_id, dictionary", "text"): 1}


def test_statistics_of_parquet_are_searched(tmp_path: Path) -> None:
    file = tmp_path / "part.parquet"
    pq.write_table(pa.table({"visitor_id": [ID, "zz"]}), file)
    assert search(file, ID).counts["footer", "text"] >= 1


def test_metadata_of_parquet_is_searched(tmp_path: Path) -> None:
    file = tmp_path / "part.parquet"
    pq.write_table(pa.table({"n": [1]}).replace_schema_metadata({"who": ID}), file)
    assert set(search(file, ID).counts) >= {("footer", "text")}


def test_compressed_value_is_decompressed(tmp_path: Path) -> None:
    file = tmp_path / "part.parquet"
    pq.write_table(pa.table({"value": [b"plain", gzip.compress(f'{{"userId":"{ID}"}}'.encode())]}), file)
    assert search(file, ID).counts == {("column value", "text"): 1}


@REPEATED
@given(identifier=IDENTIFIERS, seed=SEEDS)
def test_identifier_is_counted_in_tables_of_sqlite(tmp_path: Path, identifier: str, seed: int) -> None:
    chance = Random(seed)
    file = tmp_path / f"{seed}.db"
    file.unlink(missing_ok=True)
    database = sqlite3.connect(file)
    database.execute("PRAGMA secure_delete = OFF")
    database.execute('CREATE TABLE "the messages" (key BLOB, value TEXT, at INTEGER)')
    rows = [
        (identifier if chance.random() < 0.2 else f"o{each}", "x" * chance.randrange(6000), each)
        for each in range(40)
    ]
    database.executemany('INSERT INTO "the messages" VALUES (?, ?, ?)', rows)
    database.commit()
    kept = sum(key == identifier for key, _, _ in rows)
    counts = search(file, identifier).counts
    assert counts["table the messages", "text"] == kept
    assert search(file, "another-1234567").counts == {}
    database.execute('DELETE FROM "the messages" WHERE at % 2 = 0')
    database.commit()
    database.close()
    left = sum(key == identifier for key, _, at in rows if at % 2)
    assert search(file, identifier).counts["table the messages", "text"] == left


def test_deleted_row_is_found_in_freed_page_of_sqlite(tmp_path: Path) -> None:
    file = tmp_path / "messages.db"
    database = sqlite3.connect(file)
    database.execute("PRAGMA secure_delete = OFF")
    database.execute("CREATE TABLE messages (key TEXT, value BLOB)")
    database.execute("INSERT INTO messages VALUES (?, ?)", (ID, b"abc"))
    database.commit()
    assert search(file, ID).counts == {("table messages", "text"): 1}
    database.execute("DELETE FROM messages")
    database.commit()
    database.close()
    assert search(file, ID).counts == {("freed pages or index", "text"): 1}


def test_log_of_sqlite_is_searched_with_its_database(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "messages.db")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE messages (key TEXT)")
    database.execute("INSERT INTO messages VALUES (?)", (ID,))
    database.commit()
    found = search_home(tmp_path, [ID])
    assert {(place.file, place.part) for place in found.places} == {
        ("messages.db", "table messages"),
        ("messages.db-wal", ""),
    }
    database.close()
    assert [place.part for place in search_home(tmp_path, [ID]).places] == ["table messages"]
    assert [file.name for file in tmp_path.iterdir()] == ["messages.db"]


def _kafka_batch(records: bytes, codec: int) -> bytes:
    header = bytes(8) + (49 + len(records)).to_bytes(4, "big") + bytes(4) + b"\x02" + bytes(4)
    return header + codec.to_bytes(2, "big") + bytes(38) + records


@pytest.mark.parametrize(
    ("codec", "compress"),
    [
        (0, bytes),
        (1, gzip.compress),
        (2, _snappy_blocks),
        (2, _snappy),
        (3, lz4.frame.compress),
        (4, zstandard.ZstdCompressor().compress),
    ],
)
def test_identifier_is_found_in_kafka_segment(
    tmp_path: Path, codec: int, compress: Callable[[bytes], bytes]
) -> None:
    record = b"\x00\x00\x02" + bytes([2 * len(ID)]) + ID.encode() + b"\x04{}\x00"
    batch = _kafka_batch(b"same " * 50 + record, 0) + _kafka_batch(compress(b"same " * 50 + record), codec)
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(batch)
    found = search(file, ID)
    assert found.problem == ""
    assert found.counts["", "text"] >= 1 + (codec == 0)
    assert found.counts["records", "text"] == (codec > 0)


def test_members_of_archives_are_searched(tmp_path: Path) -> None:
    table = BytesIO()
    pq.write_table(pa.table({"visitor_id": [ID, "b"]}), table, compression="zstd", write_statistics=False)
    file = tmp_path / "model.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes.txt", f"about {ID}.")
        archive.writestr("data.parquet", table.getvalue())
        archive.writestr("log.gz", gzip.compress(ID.encode()))
    assert search(file, ID).counts == {
        ("member notes.txt", "text"): 1,
        ("member data.parquet column visitor_id", "text"): 1,
        ("member log.gz decompressed", "text"): 1,
    }


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"PAR1 no Parquet", id="parquet"),
        pytest.param(b"PK\x03\x04 no archive", id="zip"),
        pytest.param(gzip.compress(b"x" * 99)[:-9], id="gzip"),
    ],
)
def test_damaged_file_is_reported_and_its_bytes_are_searched(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "damaged").write_bytes(content + f" {ID} ".encode())
    found = search(tmp_path / "damaged", ID)
    assert found.problem
    assert found.counts == {("", "text"): 1}


def test_home_is_searched_whole(tmp_path: Path) -> None:
    chance = Random(1)
    (tmp_path / "logs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    home = tmp_path / "home"
    home.mkdir()
    (home / "logs").symlink_to(tmp_path / "logs")
    (home / "loop").symlink_to(home)
    (home / "gone").symlink_to(tmp_path / "missing")
    (tmp_path / "logs" / "engine.log").write_bytes(filler(chance, 3 << 20) + f" {ID}\n".encode())
    (home / f"{ID}.json").write_text("{}")
    found = search_home(home, [ID])
    assert [(place.file, place.part, place.encoding, place.times) for place in found.places] == [
        (f"{ID}.json", "name of the file", "text", 1),
        ("logs/engine.log", "", "text", 1),
    ]
    assert (found.files, found.unread) == (2, [])
    assert found.size == (3 << 20) + len(ID) + 4
    clean = search_home(home, ["another-1234567"])
    assert clean.is_clean
    assert clean.sha256 == found.sha256
    (home / f"{ID}.json").write_text("[]")
    assert search_home(home, [ID]).sha256 != found.sha256


def test_file_that_cannot_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text(ID)
    monkeypatch.setattr(Path, "open", _refuse)
    found = search_home(tmp_path, [ID])
    assert found.unread == [Unread("secret", "Permission denied")]
    assert not found.is_clean


def _refuse(*_: object) -> None:
    raise PermissionError(13, "Permission denied")
