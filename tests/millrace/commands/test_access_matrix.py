"""What three roles read in a folder and in a catalog with `millrace sql` and `millrace watch`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kit.access import ROLES, hash_of, visible, write_policy
from kit.access_matrix import CONDITIONS, CONVERSION, CREDITS, HIDDEN, ROLE_NAMES, TABLE_OF_ROLE, fill
from kit.catalog_server import CatalogServer
from kit.cursors import changes_of
from kit.polling import eventually
from kit.warehouse_builder import replace_rows
from kit.watching import Watch
from lakehouse.contracts import TABLES
from lakehouse.delta.log_files import latest_version
from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.cli import app, register_commands
from millrace.commands.watch import _source
from millrace.tables.reading_role import role_of
from serving.sources.cursor import Cursor

Rows = list[dict[str, Any]]
Place = tuple[Path, dict[str, str]]
Get = Callable[[str, str], Rows]


@pytest.fixture(scope="module", params=["folder", pytest.param("catalog", marks=pytest.mark.long)])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Tables in a home, or in a catalog that reads the same files."""
    home = tmp_path_factory.mktemp("home")
    write_policy(home, ROLES)
    fill(home)
    if request.param == "folder":
        return home, {}
    server: CatalogServer = request.getfixturevalue("catalog")
    server.register(home)
    return home, server.env


@pytest.fixture(scope="module")
def home(place: Place) -> Path:
    return place[0]


@pytest.fixture(autouse=True)
def _work_in_home(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    home, env = place
    monkeypatch.chdir(home)
    for name, value in {**env, "MILLRACE_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)


def by_sql(role: str, table: str) -> Rows:
    """All rows of a table by `millrace sql`."""
    return sql(f"SELECT * FROM {table}", role)


def watched(role: str, what: str, *, caused_by: bool = False) -> Cursor:
    """The cursor of `millrace watch`."""
    settings = load_settings(role=role)
    return Cursor(_source(settings, what, "start", caused_by, role_of(settings)))


def by_feed(role: str, table: str) -> Rows:
    """All rows of a table by its change feed."""
    return [change["after"] for change in changes_of(watched(role, table))]


def by_standing_query(role: str, table: str) -> Rows:
    """All rows of a table by a query that is watched."""
    return [change["after"] for change in changes_of(watched(role, f"SELECT * FROM {table}"))]


def sql(query: str, role: str) -> Rows:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, ("sql", query, "--json", "--role", role))
    if answer.exception:
        raise answer.exception
    return [json.loads(line) for line in answer.stdout.splitlines()]


READERS = (by_sql, by_feed, pytest.param(by_standing_query, marks=pytest.mark.long))


@pytest.mark.parametrize("get", READERS)
@pytest.mark.parametrize("role", ROLE_NAMES)
@pytest.mark.parametrize(
    "table", ["silver.sessions", "gold.conversions", "gold.attribution", "bronze.kafka_records"]
)
def test_role_reads_only_its_tables(get: Get, role: str, table: str) -> None:
    if table in TABLE_OF_ROLE[role]:
        assert get(role, table)
    else:
        with pytest.raises(MillraceError, match=f"{table} is not a table"):
            get(role, table)


@pytest.mark.parametrize("get", READERS)
@pytest.mark.parametrize("role", ROLE_NAMES)
def test_role_reads_only_rows_of_its_filter(get: Get, role: str) -> None:
    expected = [credit["model"] for credit in CREDITS if visible(credit, CONDITIONS[role])]
    assert sorted(row["model"] for row in get(role, "gold.attribution")) == sorted(expected)
    assert len(expected) == {"admin": 5, "analyst": 3, "marketing": 2}[role]


@pytest.mark.parametrize("get", READERS)
@pytest.mark.parametrize("role", ROLE_NAMES)
def test_columns_are_masked_or_hidden_by_role(get: Get, role: str, home: Path) -> None:
    (row,) = get(role, "gold.conversions")
    (session,) = get(role, "silver.sessions")
    columns = [name for name in TABLES["gold.conversions"].column_names if name not in HIDDEN[role]]
    assert list(row) == columns
    ids = [str(CONVERSION[name]) for name in ("person_id", "visitor_id")]
    expected = ids if role == "admin" else [hash_of(home, each) for each in ids]
    assert [row["person_id"], row["visitor_id"]] == expected
    assert session["visitor_id"] == row["visitor_id"], "joins still work"


@pytest.mark.parametrize("role", ROLE_NAMES)
def test_show_tables_and_describe_list_visible_tables_and_columns(role: str) -> None:
    assert {row["table"] for row in sql("SHOW TABLES", role)} == TABLE_OF_ROLE[role]
    described = {row["column_name"] for row in sql("DESCRIBE gold.conversions", role)}
    assert described == set(TABLES["gold.conversions"].column_names) - HIDDEN[role]


def test_role_defaults_to_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_ROLE", "marketing")
    answer = CliRunner().invoke(app, ("sql", "SELECT count(*) AS n FROM gold.attribution", "--json"))
    assert json.loads(answer.stdout) == {"n": 2}
    monkeypatch.setenv("MILLRACE_ROLE", "nobody")
    answer = CliRunner().invoke(app, ("sql", "SELECT 1"))
    assert "there is no role nobody" in str(answer.exception)


def test_row_that_leaves_the_filter_is_a_delete_for_the_role(home: Path, tmp_path: Path) -> None:
    feed = watched("marketing", "gold.attribution")
    changes_of(feed)
    replace_rows(home, "gold.attribution", [*CREDITS[:3], {**CREDITS[3], "credit": 0.1}, CREDITS[4]])
    changes = changes_of(feed)
    assert [(change["change"], change["after"]) for change in changes] == [("delete", None)]
    replace_rows(home, "gold.attribution", CREDITS)
    changes = changes_of(feed)
    assert [(change["change"], change["before"]) for change in changes] == [("insert", None)]


def test_position_of_another_role_is_rejected(home: Path, tmp_path: Path) -> None:
    from millrace.commands.watch import _print_changes
    from millrace.shutdown_signal import ShutdownSignal

    position, latest = tmp_path / "position", latest_version(home / "warehouse" / "gold" / "conversions")
    with Watch(home, tmp_path / "lines", "gold.conversions", "--changes", "--resume", str(position)) as watch:
        watch.reaches({"gold.conversions": latest})
        eventually(position.is_file, what="the position is kept")
    with pytest.raises(MillraceError, match="is the position of another watch"):
        _print_changes(
            load_settings(role="analyst"), "gold.conversions", "start", position, False, 1, ShutdownSignal()
        )


def test_access_token_is_printed_once_and_declared_by_its_hash(home: Path, tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ("token", "shop-bi", "--role", "analyst", "--days", "2"))
    token = answer.stdout.strip()
    (entry,) = [line for line in answer.stderr.splitlines() if line.startswith("  - ")]
    assert token not in answer.stderr
    from datetime import datetime, timedelta, timezone

    from lakehouse.access.policy import load_policy

    conf = write_policy(tmp_path, f"{ROLES}tokens:\n{entry}\n")
    policy, now = load_policy(conf, tmp_path), datetime.now(timezone.utc)
    found = policy.token(token, now)
    assert found is not None
    assert found.role == "analyst"
    assert policy.token(token, now + timedelta(days=2)) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("shop-bi", "--role", "nobody"), "there is no role nobody"),
        (("a b", "--role", "analyst"), "is no name of a token"),
    ],
)
def test_access_token_with_invalid_name_or_role_is_not_created(
    arguments: tuple[str, ...], message: str
) -> None:
    answer = CliRunner().invoke(app, ("token", *arguments))
    assert message in str(answer.exception)
    assert not answer.stdout


def test_caused_by_is_rejected_for_restricted_role(home: Path) -> None:
    with pytest.raises(MillraceError, match="which role marketing may not see"):
        watched("marketing", "gold.attribution", caused_by=True)
