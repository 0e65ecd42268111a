"""Unsuitable files are rejected before anything is sent; other files are read line by line."""

import gzip

import pytest

from lakehouse.bundle_file import conf_folder
from lakehouse.errors import MillraceError
from millrace.clients import line_reader
from millrace.clients.formats import FORMATS, open_format, require_format
from millrace.clients.line_reader import Line, Source
from millrace.clients.rejected import Rejected
from millrace.clients.segment import segment_records
from millrace.shutdown_signal import ShutdownSignal


def source_of(path, content: bytes) -> Source:
    file = path / "file"
    file.write_bytes(content)
    return Source(str(file), ShutdownSignal())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a\nb", [b"a", b"b"]),
        (b"a\r\n\r\nb\n", [b"a", b"", b"b"]),
        (b"\n\n", [b"", b""]),
        (b"a\rb\x0b\x85c", [b"a\rb\x0b\x85c"]),
    ],
)
def test_lines_are_split_at_newlines_only(tmp_path, content, expected):
    read = list(source_of(tmp_path, content))
    assert [line.content for line in read] == expected
    assert [line.number for line in read] == list(range(1, len(expected) + 1))


def test_overlong_line_is_truncated_and_next_line_is_complete(tmp_path, monkeypatch):
    monkeypatch.setattr(line_reader, "LONGEST_LINE", 10)
    read = list(source_of(tmp_path, b"x" * 35 + b"\nshort\n" + b"y" * 10 + b"\nlast"))
    assert [(line.content, line.cut) for line in read] == [
        (b"x" * 10, True),
        (b"short", False),
        (b"y" * 10, False),
        (b"last", False),
    ]


def test_byte_order_mark_is_no_part_of_a_line(tmp_path):
    mark = b"\xef\xbb\xbf"
    read = list(source_of(tmp_path, mark + b'{"a":1}\r\n' + mark + b"\n" + mark + b"b" + mark))
    assert read == [Line(1, b'{"a":1}'), Line(2, b""), Line(3, b"b" + mark)]


@pytest.mark.parametrize(
    ("content", "problem", "next_step"),
    [
        (b"", "is empty", "one event a line"),
        (gzip.compress(b"{}", mtime=0), "is compressed", "gzip -dc"),
        (b"PK\x03\x04...", "is compressed", "unzip -p"),
        ('{"type": "page"}\n'.encode("utf-16"), "is UTF-16", "iconv -f UTF-16"),
    ],
)
def test_empty_or_compressed_file_is_rejected(tmp_path, content, problem, next_step):
    with pytest.raises(MillraceError) as reported:
        source_of(tmp_path, content)
    assert problem in reported.value.problem
    assert next_step in reported.value.next_step


def test_missing_file_or_folder_is_rejected(tmp_path):
    with pytest.raises(MillraceError, match="no such file"):
        Source(str(tmp_path / "none"), ShutdownSignal())
    with pytest.raises(MillraceError, match="is a folder"):
        Source(str(tmp_path), ShutdownSignal())


@pytest.mark.parametrize("name", FORMATS)
def test_binary_file_is_rejected(tmp_path, name):
    content = b"\x7fELF\x00\x01\n{\x00\x02\n\x00\x00"
    with pytest.raises(MillraceError, match="is binary"):
        open_format(name, source_of(tmp_path, content), conf_folder())


def test_event_file_with_corrupt_line_is_not_binary(tmp_path):
    source = source_of(tmp_path, b'{"a":1}\n\x00\x00\x00\n{"b":2}\n')
    assert open_format("segment", source, conf_folder()).name == "segment"


def test_unknown_format_error_lists_known_formats():
    with pytest.raises(MillraceError, match="csv is no known format") as reported:
        require_format("csv")
    assert reported.value.next_step == "Use --format segment or access-log or costs or rates or auto"


def test_segment_lines_are_sent_unchanged_unless_empty_or_truncated(tmp_path):
    rejected = Rejected(tmp_path, "m")
    given = [
        Line(1, b'{"anonymousId":"a"}'),
        Line(2, b""),
        Line(3, b"  "),
        Line(4, b"\xff{"),
        Line(5, b"xx", True),
    ]
    sent = list(segment_records(given, rejected))
    rejected.close()
    assert [(record.key, record.value, record.line) for record in sent] == [
        (b"a", b'{"anonymousId":"a"}', 1),
        (None, b"  ", 3),
        (None, b"\xff{", 4),
    ]
    assert rejected.summary() == "line 5"


def test_rejected_lines_are_summarized_by_number_and_kept(tmp_path):
    rejected = Rejected(tmp_path, "m")
    for number in (3, 7, 8, 9, 10, 11, 400):
        rejected.add(number, "not in combined format", b"\xffjunk")
    rejected.close()
    assert rejected.summary() == "lines 3, 7, 8, 9, 10 and 2 more"
    kept = rejected.path.read_text().splitlines()
    assert len(kept) == 7
    assert '"line": 400' in kept[-1]
    assert "\\\\xffjunk" in kept[-1]


def test_no_file_is_written_without_rejected_lines(tmp_path):
    rejected = Rejected(tmp_path, "m")
    rejected.close()
    assert not rejected.path.exists()
    assert rejected.summary() == ""
