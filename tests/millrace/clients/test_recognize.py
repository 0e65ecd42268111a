"""`--format auto` recognises what a file holds by its first lines."""

import json
from pathlib import Path

import pytest

from lakehouse.bundle_file import conf_folder
from lakehouse.errors import MillraceError
from millrace.clients.formats import open_format
from millrace.clients.line_reader import Source
from millrace.clients.rejected import Rejected
from millrace.shutdown_signal import ShutdownSignal

EVENT = '{"type": "page", "messageId": "1", "anonymousId": "a"}'
COMBINED = '203.0.113.7 - - [27/Jan/2026:10:03:34 +0000] "GET /a HTTP/1.1" 200 5 "-" "Mozilla/5.0"'
W3C = "#Fields: date time c-ip cs-uri-stem\n2026-01-27 10:03:34 203.0.113.7 /a"
ELB = (
    '2026-01-27T10:03:34.1Z lb 203.0.113.7:2817 - 0 0 0 200 200 0 29 "GET http://x.example:80/ HTTP/1.1" "-"'
)
JSON = '{"msec": "1769508214.123", "remote_addr": "203.0.113.7", "request": "GET / HTTP/1.1"}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def source_of(path: Path, content: str) -> Source:
    path.write_text(content)
    return Source(str(path), ShutdownSignal())


@pytest.mark.parametrize(
    ("content", "name", "taken_for"),
    [
        (EVENT, "segment", "Segment events"),
        (COMBINED, "access-log", "combined log"),
        (f"www.shop.example:443 {COMBINED}", "access-log", "combined log with virtual hosts"),
        (W3C, "access-log", "W3C extended log"),
        (W3C.splitlines()[0], "access-log", "W3C extended log"),
        (ELB, "access-log", "load balancer log"),
        (JSON, "access-log", "JSON log of nginx"),
        (f"\ufeff{EVENT}", "segment", "Segment events"),
        (f"\n\nhello\n{COMBINED}\n{COMBINED}\n{EVENT}", "access-log", "combined log"),
        (f"{COMBINED}\n{EVENT}\n{{broken\n{EVENT}", "segment", "Segment events"),
    ],
)
def test_format_is_that_of_most_lines_that_can_be_read(
    path: Path, content: str, name: str, taken_for: str
) -> None:
    form = open_format("auto", source_of(path, content), conf_folder())
    assert (form.name, form.taken_for) == (name, taken_for)


def test_named_format_is_not_recognized(path: Path) -> None:
    form = open_format("segment", source_of(path, COMBINED), conf_folder())
    assert (form.name, form.taken_for) == ("segment", None)


@pytest.mark.parametrize(
    ("content", "problem", "next_step"),
    [
        ("date,visitor,url\n2026-01-27,a,/b\n", "looks like CSV, which is not read", "JSON object"),
        ("[\n{}\n]\n", "looks like a JSON array", "jq"),
        ("hello\nworld\n", "is in no known format", "--format"),
        ("\n\n", "is in no known format", "--format"),
    ],
)
def test_unknown_format_is_refused_by_its_name(
    path: Path, content: str, problem: str, next_step: str
) -> None:
    with pytest.raises(MillraceError, match=problem) as refused:
        open_format("auto", source_of(path, content), conf_folder())
    assert next_step in refused.value.next_step


def test_binary_file_is_refused(path: Path) -> None:
    with pytest.raises(MillraceError, match="Parquet"):
        open_format("auto", source_of(path, "PAR1\x00\x01\n\x00"), conf_folder())
    with pytest.raises(MillraceError, match="is binary"):
        open_format("access-log", source_of(path, f"\x00\x01\n\x00\n{COMBINED}"), conf_folder())


def test_lines_keep_their_numbers_beside_directives_and_rejected_lines(path: Path) -> None:
    source = source_of(path, f"{W3C}\n\nbroken\n{W3C.splitlines()[1]}\n")
    form, rejected = open_format("access-log", source, conf_folder()), Rejected(path.parent, "m")
    records = list(form.reader(source.sample, None)(source, rejected))
    rejected.close()
    assert [record.line for record in records] == [2, 5]
    assert len({json.loads(record.value)["messageId"] for record in records}) == 2
    assert rejected.summary() == "line 4"
    assert rejected.first_reason == "another number of columns than #Fields names"
