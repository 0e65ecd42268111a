"""Queries of a restricted role reveal no hidden or masked values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from kit.access import hash_of, policy
from kit.warehouse_builder import append_rows
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from lakehouse.access.role_entries import RoleEntry
from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import TOUCHES
from lakehouse.errors import MillraceError
from lakehouse.readers.folder_tables import FolderTables, FolderVersion
from lakehouse.settings import load_settings
from millrace.tables.duckdb_views import run_query
from serving.admission import StandingText, admit
from serving.role_query import answer
from serving.sources.query_result import compute

SECRETS = ("ann-secret", "order-secret", "paid-secret", "raw-secret", "file-secret")
Ask = Callable[[str], str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose hidden values all have `secret` in them."""
    home = tmp_path_factory.mktemp("home")
    sessions = [
        {"session_id": "s1", "visitor_id": "ann-secret", "channel": "Email", "is_open": False, "events": 1},
        {"session_id": "s2", "visitor_id": "bob-secret", "channel": "Direct", "is_open": True, "events": 2},
    ]
    append_rows(home, "silver.sessions", sessions)
    bought = {"visitor_id": "ann-secret", "person_id": "ann-secret", "order_id": "order-secret"}
    append_rows(
        home, "gold.conversions", [{"conversion_id": "c1", **bought, "url": "https://x/?u=ann-secret"}]
    )
    credits_ = [
        {"conversion_id": "c1", "model": model, "position": 1, "channel": channel, "credit": 1.0}
        for model, channel in (("last", "Email"), ("first", "paid-secret"))
    ]
    append_rows(home, "gold.attribution", credits_)
    append_rows(home, "bronze.kafka_records", [{"topic": "events", "value": b"raw-secret"}])
    (home / "file.csv").write_text("a\nfile-secret\n")
    return home


@pytest.fixture(scope="module")
def role(home: Path) -> Role:
    return policy(home).role("analyst")


@pytest.fixture
def ask(home: Path, role: Role, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs a query as the role; its rows or its error, as text. Files are relative to the home."""
    monkeypatch.chdir(home)
    settings = load_settings(home=home)

    def asked(query: str) -> str:
        try:
            return repr(run_query(settings, query, role).to_dicts())
        except MillraceError as error:
            return f"refused: {error}"

    return asked


HOSTILE = [
    "SELECT CAST(visitor_id AS INT) FROM silver.sessions",
    "SELECT error(visitor_id) FROM silver.sessions",
    "SELECT CASE WHEN visitor_id LIKE 'ann%' THEN error(visitor_id) END FROM silver.sessions",
    "SELECT 1 FROM gold.attribution WHERE CAST(channel AS INT) = 1",
    "SELECT error(channel) FROM gold.attribution WHERE channel <> 'Email'",
    "SELECT channel::INT FROM gold.attribution WHERE model = 'first'",
    "SELECT strptime(visitor_id, '%Y') FROM silver.sessions",
    "SELECT min(url), max(order_id) FROM gold.conversions",
    "SELECT * FROM gold.conversions ORDER BY person_id",
    "SELECT list(visitor_id) FROM silver.sessions GROUP BY channel",
    "SELECT lag(visitor_id) OVER (ORDER BY visitor_id), first(visitor_id) OVER () FROM silver.sessions",
    "SELECT s FROM silver.sessions s",
    "SELECT COLUMNS('.*id') FROM silver.sessions",
    "SELECT c.* FROM gold.conversions c JOIN silver.sessions USING (visitor_id)",
    "SELECT * FROM gold.conversions NATURAL JOIN silver.sessions",
    "SELECT * FROM silver.sessions JOIN bronze.kafka_records ON true",
    "SELECT (SELECT value FROM bronze.kafka_records)",
    "WITH t AS (SELECT * FROM bronze.kafka_records) SELECT * FROM t",
    'WITH "bronze.kafka_records" AS (SELECT 1) SELECT (SELECT value::VARCHAR FROM bronze.kafka_records)',
    """SELECT 1 FROM (WITH "file.csv" AS (SELECT 1) FROM "file.csv") UNION FROM 'file.csv'""",
    "SELECT * FROM read_parquet('warehouse/silver/sessions/*.parquet', hive_partitioning = false)",
    "SELECT * FROM 'warehouse/silver/sessions/**/*.parquet'",
    'SELECT * FROM "file.csv"',
    "SELECT * FROM read_text('serving/mask.key')",
    "SELECT * FROM glob('*')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('secrets')",
    "SELECT * FROM duckdb_views()",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM duckdb_columns()",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM pragma_storage_info('silver.sessions')",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM python_secret",
    "SELECT getenv('HOME')",
    "SELECT getvariable('a')",
    "EXPLAIN ANALYZE SELECT * FROM silver.sessions",
    "EXPLAIN ANALYZE COPY silver.sessions TO 'out.csv'",
    "PRAGMA table_info('silver.sessions')",
    "PRAGMA database_list",
    "COPY silver.sessions TO 'out.csv'",
    "COPY (SELECT 1) TO 'out.csv'",
    "EXPORT DATABASE 'out'",
    "ATTACH 'out.db'",
    "ATTACH ':memory:' AS other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "CREATE TABLE out AS SELECT 1",
    "CREATE MACRO f() AS TABLE FROM 'file.csv'",
    "DROP TABLE silver.sessions",
    "CALL pragma_version()",
    "SELECT 1; COPY silver.sessions TO 'out.csv'",
    "DESCRIBE gold.conversions",
    "DESCRIBE bronze.kafka_records",
    "SUMMARIZE silver.sessions",
    "SUMMARIZE gold.conversions",
    "SUMMARIZE gold.attribution",
    "SHOW ALL TABLES",
    "SHOW DATABASES",
    "FROM (SHOW VARIABLES)",
    "PIVOT silver.sessions ON visitor_id USING count(*)",
    "SELECT approx_top_k(visitor_id, 3), histogram(visitor_id) FROM silver.sessions",
    "SELECT * FROM silver.sessions TABLESAMPLE 100%",
    "SELECT bar(events, 0, 1), to_json(s) FROM silver.sessions s",
]


@pytest.mark.parametrize("query", HOSTILE)
def test_hostile_query_reveals_no_hidden_value(query: str, ask: Ask, home: Path) -> None:
    python_secret = [{"a": "ann-secret"}]  # a variable that DuckDB could find
    found = ask(query)
    shown = found if not found.startswith("refused") else found.replace(query, "")
    key = (home / "serving" / "mask.key").read_text() if (home / "serving").exists() else "no key yet"
    assert python_secret
    assert [each for each in (*SECRETS, key, "bob-secret") if each in shown] == []
    assert {path.name for path in home.iterdir()} <= {
        "warehouse", "file.csv", "serving", "conf", "bundle.yml",
    }  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
def test_hostile_query_reveals_nothing_when_name_checks_are_bypassed(
    query: str, role: Role, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setattr("serving.role_query.parse_select", lambda *_: {})
    monkeypatch.setattr("serving.role_query._columns_of", lambda *_: None)
    names = ("silver.sessions", "gold.conversions", "gold.attribution")
    opened = {name: FolderVersion(DeltaTable(home / "warehouse" / name.replace(".", "/"))) for name in names}
    try:
        text = repr(answer(query, role, opened).to_pylist())
    except (MillraceError, duckdb.Error) as error:
        text = str(error).replace(query, "")
    assert [each for each in (*SECRETS, "bob-secret") if each in text] == []
    assert not list(home.glob("out*"))


def test_hostile_queries_reveal_hidden_values_without_a_role(home: Path) -> None:
    settings = load_settings(home=home)
    for query in HOSTILE[:2]:
        with pytest.raises(MillraceError, match="-secret"):
            run_query(settings, query)
    assert "raw-secret" in repr(run_query(settings, HOSTILE[16]).to_dicts())


@pytest.mark.parametrize(
    ("hidden", "absent"),
    [
        ("SELECT * FROM bronze.kafka_records", "SELECT * FROM bronze.kafka_recorts"),
        ("DESCRIBE ops.ledger", "DESCRIBE ops.ledgex"),
        ("SELECT order_id FROM gold.conversions", "SELECT order_ix FROM gold.conversions"),
        ("SELECT c.order_id FROM gold.conversions c", "SELECT c.order_ix FROM gold.conversions c"),
    ],
)
def test_hidden_table_or_column_gives_same_error_as_missing_one(hidden: str, absent: str, ask: Ask) -> None:
    def names_alike(text: str) -> str:
        return (
            text.replace("kafka_recorts", "kafka_records").replace("ledgex", "ledger").replace("_ix", "_id")
        )

    assert ask(hidden) == names_alike(ask(absent))
    assert ask(hidden).startswith("refused")


def test_hashes_of_masked_columns_join_across_tables(ask: Ask, home: Path) -> None:
    join = "SELECT person_id AS v FROM silver.sessions s JOIN gold.conversions c ON s.visitor_id = person_id"
    assert ask(join) == repr([{"v": hash_of(home, "ann-secret")}])


def test_where_clause_applies_to_masked_values(ask: Ask, home: Path) -> None:
    query = "SELECT count(*) AS n FROM silver.sessions WHERE visitor_id = '{}'"
    assert ask(query.format("ann-secret")) == repr([{"n": 0}])
    assert ask(query.format(hash_of(home, "ann-secret"))) == repr([{"n": 1}])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM gold.attribution",
        "SELECT 1 AS n FROM gold.attribution",
        "SELECT sum(credit)::INT AS n FROM gold.attribution",
    ],
)
def test_row_filter_applies_when_query_omits_the_filter_column(query: str, ask: Ask) -> None:
    assert ask(query) == repr([{"n": 1}])


ALLOWED = [
    "SELECT channel, events FROM silver.sessions ORDER BY ALL",
    "SELECT CHANNEL FROM silver.sessions ORDER BY Events DESC",
    "SELECT x.channel FROM (SELECT s FROM silver.sessions s) y, silver.sessions x WHERE x.events = s.events",
    "SELECT count(*) FROM silver.sessions a JOIN gold.attribution b USING (channel)",
    "SELECT s.events FROM silver.sessions s NATURAL JOIN gold.attribution ORDER BY 1",
    "SELECT events, count(*) OVER (PARTITION BY is_open) FROM silver.sessions ORDER BY ALL",
    "SELECT rowid FROM silver.sessions ORDER BY 1",
    "SELECT channel FROM silver.sessions s WHERE EXISTS (FROM gold.attribution WHERE channel = s.channel)",
    "SELECT count(s) FROM silver.sessions s",
    "TABLE silver.sessions ORDER BY session_id",
]


@pytest.mark.parametrize("query", ALLOWED)
def test_column_pruning_does_not_change_query_results(
    query: str, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ask(query)
    assert not found.startswith("refused")
    monkeypatch.setattr("serving.role_query._columns_of", lambda *_: None)
    assert ask(query) == found


def test_only_columns_of_query_and_row_filter_are_read(
    home: Path, role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, ...]] = []
    from lakehouse.readers import folder_tables

    before = folder_tables.read_parts
    monkeypatch.setattr(
        folder_tables, "read_parts", lambda *given: (read.append(given[1].column_names), before(*given))[1]
    )
    run_query(load_settings(home=home), "SELECT sum(credit) FROM gold.attribution", role)
    assert set(read) == {("channel", "credit")}


def test_continuous_query_is_restricted_by_role(home: Path, role: Role) -> None:
    versions = {"silver.sessions": 0}
    query = admit("SELECT visitor_id FROM silver.sessions WHERE events = 1", role)
    found = compute(FolderTables(home / "warehouse"), query, versions, role).to_pylist()
    assert found == [{"visitor_id": hash_of(home, "ann-secret")}]
    past = StandingText("SELECT error(visitor_id) FROM silver.sessions", ("silver.sessions",), None)
    with pytest.raises(MillraceError) as error:
        compute(FolderTables(home / "warehouse"), past, versions, role)
    assert "secret" not in str(error.value)
    with pytest.raises(MillraceError, match=r"bronze\.kafka_records is not a table"):
        admit("SELECT value FROM bronze.kafka_records", role)


def test_admin_is_not_restricted(home: Path) -> None:
    admin = policy(home).role("admin")
    settings = load_settings(home=home)
    found: Any = run_query(settings, f"SELECT * FROM read_csv('{home}/file.csv')", admin).to_dicts()
    assert found == [{"a": "file-secret"}]
    assert run_query(settings, "SHOW TABLES", admin)["table"].to_list() == list(TABLES)


def test_rows_are_counted_with_a_row_condition_on_a_hidden_column(tmp_path: Path) -> None:
    mask, rows = {"gold.touches.campaign_name": "hide"}, {"gold.touches": {"campaign_name": {"not": ["a"]}}}
    entry = RoleEntry.model_validate({"tables": ["gold.*"], "mask": mask, "rows": rows})
    names = [{"touch_id": name, "campaign_name": name} for name in ("a", "b", "c")]
    write_deltalake(tmp_path / "touches", pa.Table.from_pylist(names, arrow_schema(TOUCHES)))
    opened = {"gold.touches": FolderVersion(DeltaTable(tmp_path / "touches"))}
    counted = answer("SELECT count(*) AS n FROM gold.touches", entry.to_role("r", MaskKey(tmp_path)), opened)
    assert counted.to_pylist() == [{"n": 2}]
