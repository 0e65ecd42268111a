"""One altered byte is found and named by table and commit; VACUUM, compaction and rebuild raise no alarm."""

import random
import shutil
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.recorded_home import recorded_home, send, table_of
from kit.warehouse_builder import append_rows, replace_rows
from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from millrace.audit.digests import pruning
from millrace.audit.digests.files import added_files, digest_of
from millrace.audit.digests.recorder import DigestRecorder
from millrace.audit.digests.recording import recorded_digests
from millrace.audit.file_bytes import audit_bytes
from millrace.audit.finding import Finding

ALTERATION_COUNTS = [40, pytest.param(200, marks=pytest.mark.long)]
CONVERSIONS = "gold.conversions"


@pytest.fixture(scope="module")
def recorded_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("recorded") / "home"
    recorded_home(home)
    return home


@pytest.fixture
def settings(recorded_template: Path, tmp_path: Path) -> Settings:
    return load_settings(home=shutil.copytree(recorded_template, tmp_path / "home"))


def failed_findings(settings: Settings) -> list[Finding]:
    return [finding for finding in audit_bytes(settings) if not finding.is_right]


def unrecorded(settings: Settings) -> list[str]:
    return [each.detail for each in audit_bytes(settings) if each.what == "without a digest yet"]


def current_files(home: Path) -> list[Path]:
    """All files that the audit compares: manifests, digest sums, live data files and log files."""
    found = [file for file in (home / "manifests").iterdir() if file.suffix == ".json"]
    found.append(home / "warehouse" / "ops" / "digests.sums")
    for name in TABLES:
        folder = home / "warehouse" / name.replace(".", "/")
        if folder.is_dir():
            found += [Path(uri.removeprefix("file://")) for uri in table_of(home, name).file_uris()]
            found += [file for file in (folder / "_delta_log").iterdir() if file.is_file()]
    return sorted(found)


def commit_of(file: Path, home: Path) -> str:
    """The table and commit that the audit should report for a file, searched in the log."""
    inside = file.relative_to(home).parts
    if inside[0] == "manifests":
        return "manifests"
    if file.name == "digests.sums":
        return "ops.digests"
    table = f"{inside[1]}.{inside[2]}"
    folder = home.joinpath(*inside[:3])
    if file.name[:20].isdigit():
        return f"{table}, commit {int(file.name[:20])}"
    if file.name == "_last_checkpoint":
        (checkpoint,) = (folder / "_delta_log").glob("*.checkpoint.parquet")
        return f"{table}, commit {int(checkpoint.name[:20])}"
    for commit in (folder / "_delta_log").glob("*.json"):
        if file.name in commit.read_text():
            return f"{table}, commit {int(commit.name[:20])}"
    raise AssertionError(file)


def test_unaltered_files_pass_audit(settings: Settings) -> None:
    *others, last = audit_bytes(settings)
    assert others == []
    assert last.what == "bytes"
    files = current_files(settings.home)
    compared = len(files) - 1  # the sums of ops.digests are compared with their first line
    size = sum(file.stat().st_size for file in files if file.name != "digests.sums")
    assert last.detail.startswith(f"{compared} files compared, {size / 1e6:.1f} MB in ")


@pytest.mark.parametrize("count", ALTERATION_COUNTS)
def test_each_altered_byte_is_reported_with_table_and_commit(settings: Settings, count: int) -> None:
    chance = random.Random(11)
    files = current_files(settings.home)
    named = {file: commit_of(file, settings.home) for file in files}
    chosen = [*files, *chance.choices(files, k=count)][:count]
    assert {file.relative_to(settings.home).parts[1] for file in chosen} >= {
        "bronze",
        "silver",
        "gold",
        "ops",
    }
    for file in chosen:
        content = bytearray(file.read_bytes())
        place, flip = chance.randrange(len(content)), chance.randrange(1, 256)
        content[place] ^= flip
        file.write_bytes(content)
        found = [(finding.what, finding.detail) for finding in failed_findings(settings)]
        assert found == [(named[file], f"altered: {path_of(file)}")], (file, place, flip)
        content[place] ^= flip
        file.write_bytes(content)
    assert failed_findings(settings) == []


def path_of(file: Path) -> str:
    inside = file.parts[file.parts.index("warehouse") + 3 :] if "warehouse" in file.parts else (file.name,)
    return "/".join(inside) or file.name


def compact(settings: Settings) -> None:
    for name in ("bronze.kafka_records", "ops.ledger", "ops.digests"):
        assert table_of(settings.home, name).optimize.compact()["numFilesRemoved"] > 1


def rebuild(settings: Settings) -> None:
    replace_rows(settings.home, CONVERSIONS, [{"conversion_id": "1"}])


def vacuum(settings: Settings) -> None:
    rebuild(settings)
    for name in ("bronze.kafka_records", CONVERSIONS, "ops.digests"):
        table_of(settings.home, name).vacuum(0, dry_run=False, enforce_retention_duration=False)


def clean_log(settings: Settings) -> None:
    """Remove commits before a checkpoint, as Delta does after log retention."""
    table = table_of(settings.home, CONVERSIONS)
    append_rows(settings.home, CONVERSIONS, [{"conversion_id": "2"}])
    for commit in (settings.warehouse / "gold" / "conversions" / "_delta_log").glob("*.json"):
        if int(commit.stem) <= table.version():
            commit.unlink()


def compact_and_vacuum(settings: Settings) -> None:
    compact(settings)
    vacuum(settings)


def checkpoint_again(settings: Settings) -> None:
    append_rows(settings.home, CONVERSIONS, [{"conversion_id": "2"}])
    table_of(settings.home, CONVERSIONS).create_checkpoint()


def send_more(settings: Settings) -> None:
    send(settings.home)


@pytest.mark.parametrize(
    "change", [compact, rebuild, vacuum, compact_and_vacuum, clean_log, checkpoint_again, send_more]
)
@pytest.mark.parametrize("then", ["at once", "recorded", "recorded by another process"])
def test_regular_table_changes_pass_audit(
    settings: Settings, change: Callable[[Settings], None], then: str
) -> None:
    recorder = DigestRecorder(settings)
    recorder.record()
    change(settings)
    if then != "at once":
        (recorder if then == "recorded" else DigestRecorder(settings)).record()
        assert unrecorded(settings) == []
    assert failed_findings(settings) == []


def test_repeated_compaction_and_vacuum_pass_audit(settings: Settings) -> None:
    for change in (compact, vacuum, checkpoint_again, clean_log):
        change(settings)
        DigestRecorder(settings).record()
        append_rows(settings.home, "bronze.kafka_records", [{"topic": "events", "offset": 9}])
        append_rows(settings.home, "ops.ledger", [{"job": "ingest"}])
        DigestRecorder(settings).record()
        assert failed_findings(settings) == []


def first_file(settings: Settings, name: str) -> Path:
    return Path(table_of(settings.home, name).file_uris()[0].removeprefix("file://"))


def test_missing_files_are_reported(settings: Settings) -> None:
    file = first_file(settings, CONVERSIONS)
    file.unlink()
    manifest = min((settings.home / "manifests").glob("*.json"))
    manifest.unlink()
    (settings.warehouse / "ops" / "ledger" / "_delta_log" / f"{2:020}.json").unlink()
    found = {(finding.what, finding.detail) for finding in failed_findings(settings)}
    assert found >= {
        (f"{CONVERSIONS}, commit 0", f"missing: {file.name}"),
        ("manifests", f"missing: {manifest.name}"),
        ("ops.ledger, commit 2", f"missing: _delta_log/{2:020}.json"),
    }


def test_missing_last_commit_is_reported(settings: Settings) -> None:
    log = settings.warehouse / "bronze" / "kafka_records" / "_delta_log"
    max(log.glob("*.json")).unlink()
    (found,) = failed_findings(settings)
    assert found.what == "bronze.kafka_records, commit 2"
    assert found.detail.startswith("missing: _delta_log/")


def test_missing_digest_sums_are_reported_and_recreated(settings: Settings) -> None:
    (settings.warehouse / "ops" / "digests.sums").unlink()
    assert [(each.what, each.detail) for each in failed_findings(settings)] == [
        ("ops.digests", "missing: digests.sums")
    ]
    DigestRecorder(settings).record()
    assert failed_findings(settings) == []


def test_audit_does_not_record_digests_of_new_files(settings: Settings) -> None:
    append_rows(settings.home, CONVERSIONS, [{"conversion_id": "2"}])
    for _ in range(2):
        assert failed_findings(settings) == []
        (line,) = unrecorded(settings)
        assert line.startswith("2 files, not compared: gold.conversions _delta_log/")
    DigestRecorder(settings).record()
    assert unrecorded(settings) == []


@pytest.mark.parametrize("recorded", [False, True])
def test_file_truncated_before_its_digest_is_reported(settings: Settings, recorded: bool) -> None:
    before = set(table_of(settings.home, CONVERSIONS).file_uris())
    append_rows(settings.home, CONVERSIONS, [{"conversion_id": "2"}])
    (new,) = set(table_of(settings.home, CONVERSIONS).file_uris()) - before
    file = Path(new.removeprefix("file://"))
    file.write_bytes(file.read_bytes()[:-1])
    if recorded:
        DigestRecorder(settings).record()
        DigestRecorder(settings).record()
    version = table_of(settings.home, CONVERSIONS).version()
    assert [(each.what, each.detail) for each in failed_findings(settings)] == [
        (f"{CONVERSIONS}, commit {version}", f"size differs from that in its commit: {file.name}")
    ]


@pytest.mark.parametrize("recorded", [False, True])
def test_unreadable_commit_without_digest_is_reported(settings: Settings, recorded: bool) -> None:
    append_rows(settings.home, CONVERSIONS, [{"conversion_id": "2"}])
    version = table_of(settings.home, CONVERSIONS).version()
    commit = settings.warehouse / "gold" / "conversions" / "_delta_log" / f"{version:020}.json"
    commit.write_bytes(b"[" + commit.read_bytes()[1:])
    if recorded:
        DigestRecorder(settings).record()
    assert [(each.what, each.detail) for each in failed_findings(settings)] == [
        (
            f"{CONVERSIONS}, commit {version}",
            f"altered before its digest was recorded: _delta_log/{commit.name}",
        )
    ]


def test_tables_in_a_catalog_have_no_file_digests(settings: Settings) -> None:
    on_a_catalog = settings.model_copy(update={"catalog": "main"})
    append_rows(settings.home, CONVERSIONS, [{"conversion_id": "2"}])
    with recorded_digests(on_a_catalog):
        pass
    assert len(unrecorded(settings)) == 1
    with pytest.raises(MillraceError, match="in a catalog"):
        list(audit_bytes(on_a_catalog))


def test_altered_file_is_reported_after_another_digest_is_recorded(settings: Settings) -> None:
    file = first_file(settings, CONVERSIONS)
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    size, sha256 = digest_of(file)
    row = {"table": CONVERSIONS, "path": file.name, "size": size, "sha256": sha256, "version": 0}
    append_rows(settings.home, "ops.digests", [{**row, "recorded_at": datetime.now(timezone.utc)}])
    DigestRecorder(settings).record()
    assert [each.what for each in failed_findings(settings)] == [f"{CONVERSIONS}, commit 0"]


@pytest.mark.parametrize("recorded", [False, True])
def test_pointer_to_missing_checkpoint_is_reported(settings: Settings, recorded: bool) -> None:
    pointer = settings.warehouse / "gold" / "conversions" / "_delta_log" / "_last_checkpoint"
    pointer.write_bytes(pointer.read_bytes().replace(b'"version":0', b'"version":9'))
    if recorded:
        DigestRecorder(settings).record()
    (found,) = failed_findings(settings)
    assert (found.what, found.detail) == (f"{CONVERSIONS}, commit 0", "altered: _delta_log/_last_checkpoint")


def test_altered_digest_file_is_reported_after_its_compaction(settings: Settings) -> None:
    before = {Path(uri.removeprefix("file://")) for uri in table_of(settings.home, "ops.digests").file_uris()}
    compact(settings)
    replaced = min(before)
    content = bytearray(replaced.read_bytes())
    content[len(content) // 2] ^= 1
    replaced.write_bytes(content)
    assert [each.detail for each in failed_findings(settings)] == [f"altered: {replaced.name}"]


def test_home_without_digests_is_recorded_after_log_cleanup(
    settings: Settings,
) -> None:
    shutil.rmtree(settings.warehouse / "ops" / "digests")
    (settings.warehouse / "ops" / "digests.sums").unlink()
    clean_log(settings)
    assert failed_findings(settings) == []
    file = first_file(settings, CONVERSIONS)
    recorder = DigestRecorder(settings)
    recorder.record(seconds=-1)
    assert recorder.record() > 0
    assert DigestRecorder(settings).record() == 0
    assert unrecorded(settings) == []
    live = {Path(uri).name for uri in table_of(settings.home, CONVERSIONS).file_uris()}
    known = {
        row["path"]: (row["size"], row["sha256"])
        for row in table_of(settings.home, "ops.digests").to_pyarrow_table().to_pylist()
        if row["table"] == CONVERSIONS and row["path"].endswith("c000.snappy.parquet")
    }
    assert known.keys() == live
    assert known[file.name] == digest_of(file)


def test_recording_again_adds_no_digests(settings: Settings) -> None:
    version = table_of(settings.home, "ops.digests").version()
    assert [DigestRecorder(settings).record(), DigestRecorder(settings).record()] == [0, 0]
    assert table_of(settings.home, "ops.digests").version() == version


def test_recording_resumes_after_its_time_limit(settings: Settings) -> None:
    append_rows(settings.home, CONVERSIONS, [{"conversion_id": "2"}])
    recorder = DigestRecorder(settings)
    assert recorder.record(seconds=-1) == 0
    assert len(unrecorded(settings)) == 1
    assert recorder.record() == 2  # the commit and its file
    assert unrecorded(settings) == []


def test_digests_are_recorded_during_an_application_and_at_its_end(settings: Settings) -> None:
    with recorded_digests(settings, pause=0.02):
        append_rows(settings.home, CONVERSIONS, [{"conversion_id": "2"}])
        deadline = time.monotonic() + 20
        while unrecorded(settings) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert unrecorded(settings) == []
    with recorded_digests(settings):
        append_rows(settings.home, CONVERSIONS, [{"conversion_id": "3"}])
        assert len(unrecorded(settings)) == 1
    assert unrecorded(settings) == []


def test_application_continues_if_digests_cannot_be_recorded(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    (settings.warehouse / "ops" / "digests.sums").write_bytes(b"")
    with recorded_digests(settings):
        pass
    assert "digests were not recorded: " in capsys.readouterr().err


def test_altered_digest_sums_are_reported_and_not_overwritten(settings: Settings) -> None:
    sums = settings.warehouse / "ops" / "digests.sums"
    sums.write_bytes(sums.read_bytes().replace(b" 1 ", b" 2 ", 1))
    append_rows(settings.home, CONVERSIONS, [{"conversion_id": "2"}])
    before = sums.read_bytes()
    with pytest.raises(MillraceError, match="has been altered"):
        DigestRecorder(settings).record()
    assert sums.read_bytes() == before
    assert [(each.what, each.detail) for each in failed_findings(settings)] == [
        ("ops.digests", "altered: digests.sums")
    ]


def test_url_encoded_path_in_commit_is_decoded(tmp_path: Path) -> None:
    commit = tmp_path / "commit.json"
    commit.write_text('{"commitInfo":{}}\n{"add":{"path":"day=a%20b/part-0.parquet","size":7}}\n')
    assert added_files(commit) == {"day=a b/part-0.parquet": 7}


def test_added_files_are_read_from_commits(settings: Settings) -> None:
    log = settings.warehouse / "bronze" / "kafka_records" / "_delta_log"
    added = [added_files(commit) for commit in sorted(log.glob("*.json"))]
    assert [file for each in added for file in each] != []
    assert {file for each in added for file in each} == {
        Path(uri).name for uri in table_of(settings.home, "bronze.kafka_records").file_uris()
    }


def test_digests_of_removed_files_are_pruned_above_threshold(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "MANY", 10)
    vacuum(settings)
    before = table_of(settings.home, "ops.digests").to_pyarrow_table()
    removed = {row["path"] for row in before.to_pylist() if row["table"] == CONVERSIONS}
    removed -= {str(file.relative_to(file.parents[1])) for file in current_files(settings.home)}
    removed -= {file.name for file in current_files(settings.home)}
    assert removed
    DigestRecorder(settings).record()
    after = table_of(settings.home, "ops.digests").to_pyarrow_table().to_pylist()
    assert not removed & {row["path"] for row in after}
    assert (failed_findings(settings), unrecorded(settings)) == ([], [])
    (name,) = [Path(uri).name for uri in table_of(settings.home, CONVERSIONS).file_uris()]
    (settings.warehouse / "gold" / "conversions" / name).write_bytes(b"")
    assert [finding.detail for finding in failed_findings(settings)] == [f"altered: {name}"]


def test_pruning_does_not_hide_altered_digests(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "MANY", 10)
    file = Path(table_of(settings.home, "ops.digests").file_uris()[0])
    rows = pq.read_table(file)
    zeros = pa.array(["0" * 64] * len(rows), rows.schema.field("sha256").type)
    pq.write_table(rows.set_column(rows.schema.get_field_index("sha256"), "sha256", zeros), file)
    rebuild(settings)
    table_of(settings.home, CONVERSIONS).vacuum(0, dry_run=False, enforce_retention_duration=False)
    DigestRecorder(settings).record()
    assert f"altered: {file.name}" in [finding.detail for finding in failed_findings(settings)]
