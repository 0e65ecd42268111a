"""A streaming checkpoint matches the table it fills, or is lost or incomplete."""

import json
import shutil
from pathlib import Path

import pytest

from bronze.checkpoint import Checkpoint


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """A checkpoint whose query has planned micro-batches 0 to 10."""
    folder = tmp_path / "ingest"
    (folder / "offsets").mkdir(parents=True)
    (folder / "metadata").write_text(json.dumps({"id": "query"}) + "\n")
    for number in range(11):
        (folder / "offsets" / str(number)).write_text("v1\n")
    (folder / "offsets" / ".10.crc").write_text("")
    (folder / "offsets" / "11.tmp").write_text("")
    return Checkpoint(folder)


def test_checkpoint_gives_query_id_and_last_planned_batch(checkpoint: Checkpoint) -> None:
    assert checkpoint.query_id == "query"
    assert checkpoint.last_planned_batch == 10


def test_checkpoint_reached_offsets_of_last_committed_batch(checkpoint: Checkpoint) -> None:
    assert checkpoint.reached == {}
    (checkpoint.folder / "commits").mkdir()
    for number in (8, 9):
        (checkpoint.folder / "commits" / str(number)).write_text("v1\n{}")
        read = json.dumps({"events": {"0": number, "1": 7}})
        (checkpoint.folder / "offsets" / str(number)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{read}')
    assert checkpoint.reached == {"events": {"0": 9, "1": 7}}


@pytest.mark.parametrize(
    ("app", "version", "matches"),
    [
        ("query", 10, True),
        ("query", 9, True),  # planned, not yet committed
        ("query", 11, False),  # restored from an older copy: it would plan batch 11 again
        ("another", 3, False),
    ],
)
def test_checkpoint_matches_only_its_query_up_to_last_planned_batch(
    checkpoint: Checkpoint, app: object, version: object, matches: bool
) -> None:
    assert checkpoint.matches(app, version) is matches


@pytest.mark.parametrize("damage", ["gone", "empty", "no id", "not json"])
def test_checkpoint_without_valid_metadata_matches_no_commit(checkpoint: Checkpoint, damage: str) -> None:
    metadata = checkpoint.folder / "metadata"
    if damage == "gone":
        metadata.unlink()
    else:
        metadata.write_text({"empty": "", "no id": "{}", "not json": "?"}[damage])
    assert checkpoint.query_id is None
    assert not checkpoint.matches("query", 10)


def test_checkpoint_without_offsets_matches_no_commit(checkpoint: Checkpoint) -> None:
    for file in (checkpoint.folder / "offsets").iterdir():
        file.unlink()
    assert checkpoint.last_planned_batch == -1
    assert not checkpoint.matches("query", 0)


def test_missing_checkpoint_matches_no_commit(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "none")
    assert checkpoint.quarantine() is None
    assert not checkpoint.matches("query", 0)


@pytest.mark.parametrize("is_missing", [False, True])
def test_without_a_commit_checkpoint_is_usable_only_for_an_empty_table(
    checkpoint: Checkpoint, tmp_path: Path, is_missing: bool
) -> None:
    found = Checkpoint(tmp_path / "none") if is_missing else checkpoint
    assert found.is_usable({}, 0, is_empty=True)
    assert not found.is_usable({}, 0)
    assert not found.is_usable({}, 1, is_empty=True)


def test_with_a_commit_checkpoint_is_usable_if_it_matches(checkpoint: Checkpoint) -> None:
    assert checkpoint.is_usable({"app": "query", "version": 10}, 0)
    assert not checkpoint.is_usable({"app": "another", "version": 10}, 0, is_empty=True)
    assert not checkpoint.is_usable({"app": "query", "version": 10}, 1)


def test_each_quarantined_checkpoint_is_kept_in_its_own_folder(checkpoint: Checkpoint) -> None:
    first = checkpoint.quarantine()
    checkpoint.folder.mkdir()
    second = checkpoint.quarantine()
    assert first is not None
    assert (first / "metadata").is_file()
    assert second is not None
    assert second != first
    assert not checkpoint.folder.exists()


def test_checkpoint_is_quarantined_after_an_earlier_folder_was_removed(checkpoint: Checkpoint) -> None:
    first = checkpoint.quarantine()
    checkpoint.folder.mkdir()
    second = checkpoint.quarantine()
    assert first is not None
    assert second is not None
    (second / "metadata").touch()
    shutil.rmtree(first)
    checkpoint.folder.mkdir()
    third = checkpoint.quarantine()
    assert third is not None
    assert third.name == "ingest.lost-3"
