"""The audit reports no errors on intact data, and names data that was tampered with."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake
from typer.testing import CliRunner, Result

from kit.home import SAMPLE_EVENTS, Home
from kit.tables import folder
from millrace.cli import app, register_commands

BRONZE = "bronze.kafka_records"
PLACE = "topic = '{topic}' AND partition = {partition} AND offset = {offset}"


def one_record(home: Home) -> pl.DataFrame:
    """A sample event of bronze that is not the last of its partition."""
    of_events = (pl.col("topic") == home.topic) & (pl.col("partition") == 0)
    records = pl.scan_delta(folder(home, BRONZE)).filter(of_events)
    return records.sort("offset", descending=True).slice(100, 1).collect()


def remove_record(home: Home) -> None:
    place = one_record(home).row(0, named=True)
    DeltaTable(folder(home, BRONZE)).delete(PLACE.format(**place))


def duplicate_record(home: Home) -> None:
    write_deltalake(folder(home, BRONZE), one_record(home).to_arrow(), mode="append")


def remove_bronze(home: Home) -> None:
    shutil.rmtree(folder(home, BRONZE))


def remove_event(home: Home) -> None:
    table = DeltaTable(folder(home, "silver.events"))
    event = pl.scan_delta(table).select("event_id").head(1).collect().item()
    table.delete(f"event_id = '{event}'")


def remove_rate(home: Home) -> None:
    DeltaTable(folder(home, "silver.exchange_rates")).delete("currency = 'GBP' AND valid_to IS NULL")


def claim_additional_record(home: Home) -> None:
    (path,) = (home.path / "manifests").glob("*-produce-*.json")
    reported = json.loads(path.read_text())
    path.write_text(json.dumps({**reported, "records": reported["records"] + 1}))


def claim_later_offset(home: Home) -> None:
    (path,) = (home.path / "manifests").glob("*-produce-*.json")
    reported = json.loads(path.read_text())
    reported["offsets"]["0"]["last"] += 1_000_000
    path.write_text(json.dumps(reported))


def claim_other_checksum(home: Home) -> None:
    (path,) = (home.path / "manifests").glob("*-produce-*.json")
    reported = json.loads(path.read_text())
    path.write_text(json.dumps({**reported, "checksum": "0" * len(reported["checksum"])}))


def credit_of_two_touches(home: Home) -> str:
    """A predicate: credit by the model `first` of a conversion that counts and has two touches."""
    of_first = pl.scan_delta(folder(home, "gold.attribution")).filter(
        (pl.col("model") == "first") & pl.col("is_counted")
    )
    touches = of_first.group_by("conversion_id").len().filter(pl.col("len") == 2)
    chosen = touches.select(pl.col("conversion_id").min()).collect().item()
    return f"conversion_id = '{chosen}' AND model = 'first'"


def halve_credit(home: Home) -> None:
    table = DeltaTable(folder(home, "gold.attribution"))
    table.update({"credit": "credit / 2"}, predicate=credit_of_two_touches(home))


def swap_two_credits(home: Home) -> None:
    table = DeltaTable(folder(home, "gold.attribution"))
    table.update({"credit": "1 - credit"}, predicate=credit_of_two_touches(home))


def remove_credited_touch(home: Home) -> None:
    credits_ = pl.scan_delta(folder(home, "gold.attribution")).filter(pl.col("touch_id").is_not_null())
    touch = credits_.select(pl.col("touch_id").min()).collect().item()
    DeltaTable(folder(home, "gold.touches")).delete(f"touch_id = '{touch}'")


def add_touch_without_credit(home: Home) -> None:
    """Add a touch of a visitor at the time of one that has earned credit."""
    credits_ = pl.scan_delta(folder(home, "gold.attribution")).filter(pl.col("touch_id").is_not_null())
    credited = credits_.select(pl.col("touch_id").min()).collect().item()
    touches = pl.read_delta(folder(home, "gold.touches")).filter(pl.col("touch_id") == credited)
    more = touches.with_columns(pl.lit("another").alias("touch_id"))
    write_deltalake(folder(home, "gold.touches"), more.to_arrow(), mode="append")


def increase_touch_count(home: Home) -> None:
    chosen = credit_of_two_touches(home).split(" AND ")[0]
    DeltaTable(folder(home, "gold.conversions")).update({"touches": "touches + 1"}, predicate=chosen)


def rewrite_window(home: Home, kind: str, *, removed: bool) -> None:
    """Remove the window of all channels with the most events, or add a page view to it."""
    place = folder(home, "gold.traffic")
    rows = pl.read_delta(place)
    of_kind = (pl.col("window_kind") == kind) & pl.col("channel").is_null()
    chosen = rows.filter(of_kind).sort("events").row(-1, named=True)["window_start"]
    is_chosen = of_kind & (pl.col("window_start") == chosen)
    more = pl.col("page_views") + is_chosen.cast(pl.Int64)
    changed = rows.filter(~is_chosen.fill_null(value=False)) if removed else rows.with_columns(more)
    write_deltalake(place, changed.to_arrow(), mode="overwrite")


def change_window(home: Home) -> None:
    rewrite_window(home, "1 hour", removed=False)


def remove_window(home: Home) -> None:
    rewrite_window(home, "1 minute", removed=True)


@pytest.fixture
def audit() -> Callable[[Home], Result]:
    """`millrace audit` in this process."""
    if not app.registered_commands:
        register_commands()
    return lambda home: CliRunner().invoke(app, ["audit"], env=home.env)


def wrong_lines(stdout: str) -> list[str]:
    return [" ".join(line.split()) for line in stdout.splitlines() if line.split()[:1] == ["wrong"]]


def test_audit_passes_after_all_jobs(caught_up_home: Home) -> None:
    done = caught_up_home.run("audit")
    assert done.returncode == 0, done.stdout
    assert wrong_lines(done.stdout) == []
    assert f"{SAMPLE_EVENTS:,} of {SAMPLE_EVENTS:,} records in bronze" in done.stdout
    assert "Audit ok: nothing is missing and nothing is doubled." in done.stdout
    as_of = " ".join(done.stdout.split())  # the table wraps its lines
    tables = ("gold.conversions", "gold.attribution", "gold.touches", "gold.visitor_minutes", "gold.traffic")
    versions = {name: DeltaTable(folder(caught_up_home, name)).version() for name in tables}
    assert [name for name in tables if f"{name} version {versions[name]}" not in as_of] == []


@pytest.mark.long
def test_byte_audit_passes_after_rebuild_and_maintenance(caught_up_home: Home, tmp_path: Path) -> None:
    home = caught_up_home.copy(tmp_path / "home")
    home.must("rebuild", "silver.sessions", "gold.conversions")
    home.must("run", "maintenance")
    done = home.run("audit", "--bytes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert wrong_lines(done.stdout) == []
    assert "without a digest" not in done.stdout
    assert "Audit ok: every byte that has been recorded is as it was." in done.stdout


def test_byte_audit_names_file_with_altered_byte(caught_up_home: Home, tmp_path: Path) -> None:
    home = caught_up_home.copy(tmp_path / "home")
    table = DeltaTable(folder(home, "gold.attribution"))
    file = Path(table.file_uris()[0].removeprefix("file://"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    done = home.run("audit", "--bytes")
    assert done.returncode == 1
    (line,) = wrong_lines(done.stdout)
    assert line.startswith("wrong gold.attribution, commit ")
    assert line.endswith(f"altered: {file.name}")
    assert "look at the rows marked wrong in `millrace audit --bytes`" in done.stderr


TAMPERED: dict[Callable[[Home], None], list[str]] = {
    remove_record: ["1 lost", f"{SAMPLE_EVENTS - 1:,} of {SAMPLE_EVENTS:,} records in bronze", "off by -1"],
    duplicate_record: ["records, 1 of them twice", "off by 1"],
    remove_event: ["ledger of refine: silver.events", "off by 1", "1 bronze records are in no silver"],
    remove_rate: ["bronze = exchange rates", "off by 1", "1 bronze records are in no silver"],
    claim_additional_record: [f"{SAMPLE_EVENTS:,} of {SAMPLE_EVENTS + 1:,} records in bronze"],
    claim_later_offset: ["Kafka does not have the rest", "/0: another topic?"],
    remove_bronze: ["is not there; by the ledger it has"],
    claim_other_checksum: ["checksum", "the client's is 0000"],
    halve_credit: ["credits sum to conversions", "credits follow from models", "conversions, 1 wrong"],
    swap_two_credits: ["gold: credits follow from models", "conversions, 1 wrong", "/first"],
    remove_credited_touch: ["gold: credits are of touches"],
    add_touch_without_credit: ["gold: credits are of all touches", "/another"],
    increase_touch_count: ["gold: credits are of all touches", "conversions, 1 wrong", "/touches"],
    change_window: ["gold: windows sum minutes", "windows, 1 wrong: 1 hour/"],
    remove_window: ["gold: windows sum minutes", "events in none"],
}
"""Changes of tables behind the jobs' back, with what the audit reports for each."""


@pytest.mark.parametrize(
    "tampers",
    [
        # Each in a check of its own, so that none can hide another.
        (remove_record, halve_credit, change_window),
        (duplicate_record, swap_two_credits, remove_window),
        (remove_event, remove_credited_touch),
        (remove_rate, add_touch_without_credit),
        (claim_additional_record, increase_touch_count),
        (claim_later_offset,),
        (claim_other_checksum,),
        (remove_bronze,),
    ],
    ids=lambda tampers: " and ".join(tamper.__name__ for tamper in tampers),
)
def test_audit_names_tampered_data(
    caught_up_home: Home,
    tmp_path: Path,
    audit: Callable[[Home], Result],
    tampers: tuple[Callable[[Home], None], ...],
) -> None:
    home = caught_up_home.copy(tmp_path / "home")
    for tamper in tampers:
        tamper(home)
    done = audit(home)
    wrong = "\n".join(wrong_lines(done.stdout))
    reported = [part for tamper in tampers for part in TAMPERED[tamper]]
    assert [part for part in reported if part not in wrong] == []
    assert str(done.exception).startswith("the audit found ")


@pytest.mark.parametrize("value", [b"\xff", None])
def test_audit_ignores_foreign_manifest_headers(
    caught_up_home: Home, tmp_path: Path, audit: Callable[[Home], Result], value: bytes | None
) -> None:
    home = caught_up_home.copy(tmp_path / "home")
    record = one_record(home)
    headers = [*record["headers"].to_list()[0], {"key": "manifest", "value": value}]
    reported = record.with_columns(pl.Series("headers", [headers], dtype=record["headers"].dtype))
    remove_record(home)
    write_deltalake(folder(home, BRONZE), reported.to_arrow(), mode="append")
    done = audit(home)
    assert done.exit_code == 0, done.output
