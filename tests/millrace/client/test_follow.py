import json
import subprocess
import sys
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.scripted_server import changes, event, heartbeat, reset, rows, scripted_server
from lakehouse.errors import MillraceError
from millrace.client import Change, Group, Stream, follow

ROW, OTHER = {"day": "2026-11-02", "visitors": 1}, {"day": "2026-11-02", "visitors": 2}

pytestmark = pytest.mark.usefixtures("without_pauses")


def _seen(urls: str | list[str], count: int, after: str | None = None, **more: Any) -> list[tuple[Any, ...]]:
    """Position, whether it is a reset, and the changes of each group."""
    groups = follow(urls, after, table="gold.funnel", **more)
    return [(group.position, group.reset, list(group.row_changes)) for group in islice(groups, count)]


def test_snapshot_in_several_messages_is_one_group() -> None:
    body = reset(["day"]) + rows([ROW]) + rows([OTHER], "1") + changes([(ROW, None)], "2")
    with scripted_server(lambda last, path: (200, body)) as url:
        first, second = _seen(url, 2)
    assert first == ("1", True, [Change("insert", None, ROW), Change("insert", None, OTHER)])
    assert second == ("2", False, [Change("delete", ROW, None)])


def test_group_has_key_versions_and_commit_time() -> None:
    body = reset(["day"]) + rows([ROW], "1") + changes([(ROW, OTHER)], "2")
    with scripted_server(lambda last, path: (200, body)) as url:
        found: list[Group] = list(islice(follow(url, table="gold.funnel"), 2))
    assert [(each.key, each.versions, each.committed_at) for each in found] == [
        (("day",), {"gold.funnel": 0}, None),
        (("day",), {"gold.funnel": 1}, "2026-11-02T10:00:00Z"),
    ]


def test_heartbeat_is_a_group_without_changes() -> None:
    with scripted_server(lambda last, path: (200, heartbeat("7"))) as url:
        assert _seen(url, 1, "7") == [("7", False, [])]


def test_reset_discards_changes_of_unfinished_group() -> None:
    body = changes([(ROW, OTHER)]) + reset(["day"]) + rows([ROW], "5")
    with scripted_server(lambda last, path: (200, body)) as url:
        assert _seen(url, 1, "4") == [("5", True, [Change("insert", None, ROW)])]


def test_truncated_group_is_dropped_and_requested_again() -> None:
    requested: list[str | None] = []

    def answer(last: str | None, path: str) -> tuple[int, bytes]:
        requested.append(last)
        cut = changes([(None, ROW)], "1") + changes([(ROW, OTHER)])
        return 200, cut if len(requested) == 1 else changes([(ROW, None)], "2")

    with scripted_server(answer) as url:
        found = _seen(url, 2, "0")
    assert requested == ["0", "1"]
    assert found[1] == ("2", False, [Change("delete", ROW, None)])


def test_stream_fails_over_to_another_server() -> None:
    with (
        scripted_server(lambda last, path: (200, changes([(None, ROW)], "1") if last != "1" else b"")) as one,
        scripted_server(lambda last, path: (200, changes([(ROW, None)], "2") if last == "1" else b"")) as two,
    ):
        found = _seen(["http://127.0.0.1:9", one, "http://127.0.0.1:9", two], 2, "0")
    assert [position for position, *_ in found] == ["1", "2"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_unavailable_server_is_retried(status: int) -> None:
    answers = iter([(status, b""), (200, heartbeat("3"))])
    with scripted_server(lambda last, path: next(answers)) as url:
        assert _seen(url, 1) == [("3", False, [])]


def test_closed_stream_is_reopened() -> None:
    answers = iter([event("closed", {"reason": "too slow"}), heartbeat("3")])
    with scripted_server(lambda last, path: (200, next(answers))) as url:
        assert _seen(url, 1) == [("3", False, [])]


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_client_error_raises_with_reason_of_the_server(status: int) -> None:
    body = json.dumps({"error": "there is no table gold.x. See `millrace sql`."}).encode()
    with (
        scripted_server(lambda last, path: (status, body)) as url,
        pytest.raises(MillraceError, match=r"refuses: there is no table gold\.x\. See `millrace sql`\. C"),
    ):
        _seen(url, 1)


def test_stream_options_are_in_the_request_url() -> None:
    paths: list[str] = []

    def answer(last: str | None, path: str) -> tuple[int, bytes]:
        paths.append(path)
        return 200, heartbeat("3")

    with scripted_server(answer) as url:
        _seen(f"{url}/", 1, where={"channel": ["Email"]}, select=["day", "visitors"], interval=2)
        next(follow(url, sql="SELECT 1")).row_changes.close()
    assert [parse_qs(urlsplit(path).query) for path in paths] == [
        {
            "table": ["gold.funnel"],
            "where": ['{"channel": ["Email"]}'],
            "select": ["day,visitors"],
            "interval": ["2"],
        },
        {"sql": ["SELECT 1"]},
    ]


@pytest.mark.parametrize("wanted", [{}, {"table": "gold.funnel", "sql": "SELECT 1"}])
def test_stream_needs_either_a_table_or_a_query(wanted: dict[str, str]) -> None:
    with pytest.raises(MillraceError, match="either a table or a query"):
        Stream("http://127.0.0.1:9", **wanted)  # type: ignore[arg-type]


def test_repr_of_stream_hides_access_token() -> None:
    assert "secret" not in repr(Stream("http://127.0.0.1:9", table="gold.funnel", token="secret"))


def test_client_import_loads_no_heavy_packages() -> None:
    heavy = "{'pyspark', 'deltalake', 'duckdb', 'polars', 'pyarrow', 'pandas', 'typer', 'psycopg'}"
    script = f"import sys, millrace.client; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 2_000), max_size=8),
)
def test_each_group_is_delivered_once_wherever_the_connection_breaks(
    sizes: list[int], cuts: list[int]
) -> None:
    """The server sends groups of the given sizes, and cuts each response after the given bytes."""
    groups = [
        b"".join(changes([(None, {"group": at, "message": message})]) for message in range(size))
        + changes([(None, {"group": at, "message": "last"})], str(at + 1))
        for at, size in enumerate(sizes)
    ]
    left = iter(cuts)

    def answer(last: str | None, path: str) -> tuple[int, bytes]:
        body = b"".join(groups[int(last or 0) :])
        return 200, body[: next(left, len(body))]

    with scripted_server(answer) as url:
        found = _seen(url, len(groups))
    assert [position for position, *_ in found] == [str(at + 1) for at in range(len(groups))]
    assert [[change.after for change in each] for *_, each in found] == [
        [{"group": at, "message": message} for message in [*range(size), "last"]]
        for at, size in enumerate(sizes)
    ]
