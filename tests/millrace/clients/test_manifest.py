"""A manifest describes exactly the records that were acknowledged."""

import json
from hashlib import md5

import pytest

from lakehouse.errors import MillraceError
from millrace.clients.checksum import as_hex, value_digest
from millrace.clients.manifest import new_manifest


def test_checksum_is_order_independent_sum_of_md5_prefixes():
    digests = [int(md5(value).hexdigest()[:16], 16) for value in (b"a", b"b", b"b")]
    assert as_hex(sum(map(value_digest, (b"b", b"a", b"b")))) == f"{sum(digests) % 2**64:016x}"


def test_new_manifest_is_written_as_incomplete(tmp_path):
    manifest = new_manifest(tmp_path, "load", "some.log", "events")
    reported = json.loads(manifest.path.read_text())
    assert manifest.path == tmp_path / "manifests" / f"{manifest.id}.json"
    assert (reported["status"], reported["records"], reported["ended_at"]) == ("incomplete", 0, None)
    assert (reported["command"], reported["source"], reported["topic"]) == ("load", "some.log", "events")


def test_closed_manifest_has_count_checksum_and_offsets(tmp_path):
    manifest = new_manifest(tmp_path, "load", "some.log", "events")
    for value, partition, offset in ((b"a", 0, 7), (b"b", 1, 3), (b"c", 0, 5), (b"d", 0, -1)):
        manifest.confirm(value_digest(value), partition, offset)
    manifest.close(whole=True)
    reported = json.loads(manifest.path.read_text())
    assert (reported["status"], reported["records"]) == ("complete", 4)
    assert reported["checksum"] == as_hex(sum(map(value_digest, (b"a", b"b", b"c", b"d"))))
    assert reported["offsets"] == {"0": {"first": 5, "last": 7}, "1": {"first": 3, "last": 3}}
    assert [file.name for file in manifest.path.parent.iterdir()] == [manifest.path.name]


def test_unconfirmed_record_makes_manifest_incomplete(tmp_path):
    manifest = new_manifest(tmp_path, "load", "some.log", "events")
    manifest.unconfirmed = 1
    manifest.close(whole=True)
    assert json.loads(manifest.path.read_text())["status"] == "incomplete"


def test_home_that_is_a_file_is_rejected(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(MillraceError, match=r"manifest .* can't be written"):
        new_manifest(tmp_path / "home", "load", "some.log", "events")
