"""`millrace watch` as a process."""

import io
import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from deltalake import DeltaTable

from kit.change_folding import snapshot_of
from kit.home import ROOT, command
from kit.polling import eventually
from kit.warehouse_builder import append_rows, replace_rows
from kit.watching import SECONDS, Watch, lines_of
from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from lakehouse.readers.folder_tables import FolderTables
from lakehouse.rows.row_json import row_json
from lakehouse.settings import load_settings
from millrace.commands.watch import _write, watch
from millrace.shutdown_signal import ShutdownSignal
from serving.admission import admit
from serving.sources.query_result import compute
from serving.sources.row_changes import ChangeGroup, RowChange

NAME = "gold.attribution"
QUERY = f"SELECT channel, sum(credit) AS credit FROM {NAME} GROUP BY channel"


def credit(number: int, channel: str = "Email", share: float = 1.0) -> dict[str, Any]:
    return {
        "conversion_id": f"c{number}",
        "model": "last",
        "position": 1,
        "channel": channel,
        "credit": share,
    }


def folder_of(home: Path) -> Path:
    return home.joinpath("warehouse", *NAME.split("."))


def compact(home: Path) -> None:
    DeltaTable(folder_of(home)).optimize.compact()


def table_at(home: Path, version: int) -> Counter[str]:
    """Rows of a version, as the texts of JSON lines."""
    return texts(snapshot_of(folder_of(home), TABLES[NAME], version).to_pylist())


def texts(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(json.loads(row_json(row))) for row in rows)


def fold(lines: list[dict[str, Any]]) -> Counter[str]:
    """Fold the changes as docs/watch.md describes: lines count once a newer position follows."""
    done, state, held = -1, Counter[str](), []
    for line in lines:
        if "position" not in line:
            held.append(line)
            continue
        if not line["position"]:
            done, state = -1, Counter()
        elif (version := line["position"][NAME]) > done:
            for change in held:
                apply(state, change)
            assert min(state.values(), default=0) >= 0
            done = version
        held = []
    return +state


def apply(state: Counter[str], change: dict[str, Any]) -> None:
    for side, by in (("before", -1), ("after", 1)):
        if change.get(side) is not None:
            state[json.dumps(change[side])] += by


def test_watch_prints_changes_of_new_commits(tmp_path: Path) -> None:
    append_rows(tmp_path, NAME, [credit(1), credit(2)])
    output = tmp_path / "lines"
    with Watch(tmp_path, output, NAME, "--changes") as running:
        lines = running.reaches({NAME: 0})
        assert [line.get("change") for line in lines] == [None, "insert", "insert", None]
        append_rows(tmp_path, NAME, [credit(3, "Direct")], upto=17)
        running.reaches({NAME: 1})
        compact(tmp_path)
        running.reaches({NAME: 2})
        replace_rows(tmp_path, NAME, [credit(1), credit(2, "Direct")])
        lines = running.reaches({NAME: 3})
        assert running.interrupt() == 0
    later = [(each["change"], each["commit_version"]) for each in lines[4:] if "change" in each]
    assert sorted(later) == [("delete", 3), ("insert", 1), ("update", 3)]
    assert lines[4]["upto"] == "1970-01-01T00:00:00.000017Z"
    assert lines[4]["job"] == "publish"
    assert fold(lines) == table_at(tmp_path, 3)


def test_killed_watch_resumes_without_a_gap(tmp_path: Path) -> None:
    output, position = tmp_path / "lines", tmp_path / "at" / "position"
    arguments = (NAME, "--changes", "--resume", str(position))
    append_rows(tmp_path, NAME, [credit(number) for number in range(2000)])
    for number in range(3):
        with Watch(tmp_path, output, *arguments) as running:
            if number % 2:  # killed while it starts or reads; else once it has caught up
                running.reaches({NAME: DeltaTable(folder_of(tmp_path)).version()})
            append_rows(tmp_path, NAME, [credit(3000 + number), credit(4000 + number)])
            running.kill()
    with Watch(tmp_path, output, *arguments) as running:
        lines = running.reaches({NAME: 3})
    assert fold(lines) == table_at(tmp_path, 3)
    assert json.loads(position.read_text())["position"] == {NAME: 3}


def test_position_is_saved_after_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BufferedWriter(written)))  # type: ignore[arg-type]
    saved: list[tuple[Any, Any, bytes]] = []

    class Positions:
        def save(self, position: Any, table_ids: Any) -> None:
            saved.append((position, table_ids, written.getvalue()))

    group = ChangeGroup([RowChange(b"", None, b"{}")], {NAME: 3})
    cursor = SimpleNamespace(table_ids={NAME: "id"})
    assert _write(group, cursor, Positions(), ShutdownSignal())  # type: ignore[arg-type]
    assert saved == [({NAME: 3}, {NAME: "id"}, "".join(f"{line}\n" for line in group.lines()).encode())]


def test_truncated_group_is_dropped_at_resume(tmp_path: Path) -> None:
    output, position = tmp_path / "lines", tmp_path / "position"
    arguments = (NAME, "--changes", "--resume", str(position))
    append_rows(tmp_path, NAME, [credit(1), credit(2)])
    with Watch(tmp_path, output, *arguments) as running:
        written = len(running.reaches({NAME: 0})) and output.read_bytes()
        running.kill()
    position.unlink(missing_ok=True)  # the kill may come before it is written
    lines = written.splitlines(keepends=True)
    for left in (lines[0] + lines[1] + lines[2][:30], written):  # of the snapshot
        output.write_bytes(left)
        with Watch(tmp_path, output, *arguments) as running:
            eventually(position.exists, SECONDS, "its position")
        assert fold(lines_of(output)) == table_at(tmp_path, 0)
        position.unlink()


def test_group_without_saved_position_is_repeated_at_resume(tmp_path: Path) -> None:
    output, position = tmp_path / "lines", tmp_path / "position"
    arguments = (NAME, "--changes", "--resume", str(position))
    append_rows(tmp_path, NAME, [credit(1)])
    with Watch(tmp_path, output, *arguments) as running:
        running.reaches({NAME: 0})
        eventually(position.exists, SECONDS, "its position")
        kept = position.read_text()
        append_rows(tmp_path, NAME, [credit(2)])
        running.reaches({NAME: 1})
    position.write_text(kept)  # as if the kill came between the lines and the position
    append_rows(tmp_path, NAME, [credit(3)])
    with Watch(tmp_path, output, *arguments) as running:
        lines = running.reaches({NAME: 2})
    assert [line["commit_version"] for line in lines if "change" in line] == [0, 1, 1, 2]
    assert fold(lines) == table_at(tmp_path, 2)


def test_watched_query_equals_its_result_at_each_position(tmp_path: Path) -> None:
    append_rows(tmp_path, NAME, [credit(1), credit(2, "Direct", 0.1)])
    output = tmp_path / "lines"
    with Watch(tmp_path, output, QUERY, "--changes", "--resume", str(tmp_path / "position")) as running:
        running.reaches({NAME: 0})
        append_rows(tmp_path, NAME, [credit(3, "Direct", 0.2)])
        running.reaches({NAME: 1})
        compact(tmp_path)
        running.reaches({NAME: 2})
    replace_rows(tmp_path, NAME, [credit(4, "Referral")])
    with Watch(tmp_path, output, QUERY, "--changes", "--resume", str(tmp_path / "position")) as running:
        lines = running.reaches({NAME: 3})
    kinds = [line.get("change", "at") for line in lines]
    assert kinds == [
        *("at", "insert", "insert", "at", "update", "at", "at"),
        *("at", "delete", "delete", "insert", "at"),
    ]
    state: Counter[str] = Counter()
    for line in lines:
        apply(state, line)
        if line.get("position"):
            result = compute(FolderTables(tmp_path / "warehouse"), admit(QUERY), line["position"]).to_pylist()
            assert +state == texts(result), line


def test_watch_from_now_or_from_a_version_omits_the_snapshot(tmp_path: Path) -> None:
    append_rows(tmp_path, NAME, [credit(1)])
    append_rows(tmp_path, NAME, [credit(2)])
    with Watch(tmp_path, tmp_path / "now", NAME, "--changes", "--from", "now") as running:
        assert running.reaches({NAME: 1}) == [{"position": {NAME: 1}}]
    with Watch(tmp_path, tmp_path / "version", NAME, "--changes", "--from", "0") as running:
        assert [line.get("commit_version") for line in running.reaches({NAME: 1})] == [None, 1, None]
    with Watch(tmp_path, tmp_path / "query", QUERY, "--changes", "--from", "now") as running:
        assert running.reaches({NAME: 1}) == [{"position": {NAME: 1}}]


def test_caused_by_option_adds_cause_to_changes(tmp_path: Path) -> None:
    append_rows(tmp_path, NAME, [credit(1)])
    replace_rows(tmp_path, NAME, [credit(1, "Direct")])
    output = tmp_path / "lines"
    with Watch(tmp_path, output, NAME, "--changes", "--caused-by", "--from", "0") as running:
        causes = [line["caused_by"] for line in running.reaches({NAME: 1}) if "change" in line]
    assert causes == [{"job": None}]


def test_watch_supports_table_without_key(tmp_path: Path) -> None:
    name, minute = "gold.visitor_minutes", {"visitor_id": "v", "events": 1}
    append_rows(tmp_path, name, [minute, minute])
    with Watch(tmp_path, tmp_path / "lines", name, "--changes", "--from", "start") as running:
        running.reaches({name: 0})
        append_rows(tmp_path, name, [minute])
        lines = running.reaches({name: 1})
    assert [line["change"] for line in lines if "change" in line] == ["insert"] * 3


def test_watch_waits_for_missing_table(tmp_path: Path) -> None:
    with Watch(tmp_path, tmp_path / "lines", NAME, "--changes", "--from", "now") as running:
        running.reaches({NAME: -1})
        append_rows(tmp_path, NAME, [credit(1)])
        assert [line.get("change") for line in running.reaches({NAME: 0})] == [None, "insert", None]


def test_watch_ends_when_its_reader_closes_the_pipe(tmp_path: Path) -> None:
    append_rows(tmp_path, NAME, [credit(number) for number in range(5000)])
    env = {**os.environ, "MILLRACE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    piped = subprocess.Popen(
        command("watch", NAME, "--changes"),
        env=env,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with piped:
        assert piped.stdout
        assert piped.stderr
        assert piped.stdout.readline() == b'{"position": {}}\n'
        piped.stdout.close()
        assert piped.wait(SECONDS) == 0
        assert piped.stderr.read() == b""


DEFAULTS: dict[str, Any] = {
    "changes": True,
    "start": "start",
    "resume": None,
    "caused_by": False,
    "interval": 0.05,
}


def test_position_of_recreated_table_or_other_watch_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))

    def rejection_of(watched: str) -> str:
        with pytest.raises(MillraceError) as error:
            watch(**{**DEFAULTS, "watched": watched, "resume": position})
        assert capsys.readouterr().out == ""
        return str(error.value)

    append_rows(tmp_path, NAME, [credit(1)])
    position = tmp_path / "position"
    with Watch(tmp_path, tmp_path / "lines", NAME, "--changes", "--resume", str(position)) as running:
        running.reaches({NAME: 0})
        eventually(position.exists, SECONDS, "its position")
        running.interrupt()
    folder_of(tmp_path).rename(tmp_path / "old")
    append_rows(tmp_path, NAME, [credit(2)])
    assert "was made again" in rejection_of(NAME)
    append_rows(tmp_path, NAME, [credit(3)])  # now it has more versions than the reader knows
    DeltaTable(folder_of(tmp_path)).create_checkpoint()
    (folder_of(tmp_path) / "_delta_log" / f"{0:020}.json").unlink()  # and log retention has removed that one
    assert "was made again" in rejection_of(NAME)
    assert "position of another watch" in rejection_of(QUERY)
    position.write_text("{}")
    assert "is not a position" in rejection_of(NAME)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"watched": "SELECT now() FROM gold.attribution"}, "depends on the clock"),
        ({"watched": "gold.atribution"}, "gold.attribution meant"),
        ({"watched": NAME, "start": "yesterday"}, "is no version"),
        ({"watched": QUERY, "start": "3"}, "no version to begin after"),
        ({"watched": NAME, "changes": False, "start": "now"}, "are for changes"),
        ({"watched": NAME, "changes": False, "caused_by": True}, "are for changes"),
        ({"watched": QUERY, "caused_by": True}, "no causes of their own"),
    ],
)
def test_invalid_watch_options_are_rejected(
    options: dict[str, Any], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    assert load_settings().home == tmp_path
    with pytest.raises(MillraceError, match=reason):
        watch(**{**DEFAULTS, **options})
