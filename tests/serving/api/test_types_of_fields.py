"""Fields of any JSON type are used or refused with a reason; none is an error of the server."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from kit.api_client import api_client
from kit.warehouse_builder import append_rows
from lakehouse.errors import MillraceError
from serving.api.requests import position_of, terms_of, wanted_of
from serving.stream.subscription import Terms

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
NAMES = ("table", "sql", "where", "select", "after", "interval", "budget", "conflate", "url", "channel")
FIELDS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)
WHERE = st.dictionaries(
    st.sampled_from(["channel", "credit", "conversion_id", "no_column"]), VALUES, max_size=2
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    home: Path = tmp_path_factory.mktemp("home")
    append_rows(home, "gold.attribution", [{"conversion_id": "c1", "channel": "Email", "credit": 0.5}])
    with api_client(home) as client:
        yield client


@given(FIELDS)
@example({"table": "gold.attribution", "select": 5})
@example({"table": "gold.attribution", "after": 5})
@example({"interval": True, "budget": float("nan")})
def test_fields_are_parsed_or_refused(fields: dict[str, Any]) -> None:
    for parse in (wanted_of, position_of, lambda given: terms_of(given, Terms())):
        with suppress(MillraceError):
            parse(fields)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["http://127.0.0.1:9/", 5, None]), FIELDS, WHERE)
@example("http://127.0.0.1:9/", {"select": 5}, {})
@example("http://127.0.0.1:9/", {"after": 5}, {})
@example("http://127.0.0.1:9/", {}, {"channel": {"not": 5}})
@example("http://127.0.0.1:9/", {}, {"credit": {"gte": "x"}})
def test_registering_a_webhook_with_any_fields_is_no_error_of_the_server(
    client: TestClient, url: object, fields: dict[str, Any], where: dict[str, Any]
) -> None:
    asked = {"table": "gold.attribution", "where": where, **fields, "url": url}
    answer = client.post("/v1/webhooks", content=as_json(asked))
    assert answer.status_code in (201, 400), answer.text
    for webhook in client.get("/v1/webhooks").json()["webhooks"]:
        client.delete(f"/v1/webhooks/{webhook['id']}")


def as_json(content: object) -> bytes:
    return json.dumps(content).encode()  # with NaN and Infinity, as some clients send
