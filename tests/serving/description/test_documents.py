"""The OpenAPI and AsyncAPI documents are complete and valid, and match the API's responses."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient

from kit.api_client import api_client
from kit.warehouse_builder import append_rows
from serving.description.operations import OPERATIONS

TABLE = "gold.funnel"


def append_days(home: Path, *days: int) -> None:
    rows = [{"day": date(2026, 1, 1) + timedelta(day), "step": "visit", "visitors": 1} for day in days]
    append_rows(home, TABLE, rows)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("home")
    append_days(found, 0, 1)
    return found


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[TestClient]:
    with api_client(home) as client:
        yield client


@pytest.fixture(scope="module")
def openapi(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


@pytest.fixture(scope="module")
def asyncapi(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/asyncapi.json").json()
    return found


def assert_matches_schema(document: dict[str, Any], schema: str, content: Any) -> None:
    """Content matches one of the document's schemas."""
    reference = {"$ref": f"#/components/schemas/{schema}", "components": document["components"]}
    errors = [error.message for error in Draft202012Validator(reference).iter_errors(content)]
    assert errors == [], content


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for each in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes(each)


def test_documented_operations_equal_the_served_routes(client: TestClient) -> None:
    routes = client.app.routes  # type: ignore[attr-defined]
    served = {
        (method, route.path)
        for route in routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert served == OPERATIONS.keys()


def test_every_route_has_a_unique_summary(openapi: dict[str, Any]) -> None:
    summaries = [operation["summary"] for path in openapi["paths"].values() for operation in path.values()]
    assert all(re.fullmatch(r"[A-Z`].*[.:]", each) for each in summaries), summaries
    assert len(set(summaries)) == len(summaries)


def test_every_websocket_route_is_an_asyncapi_channel(client: TestClient, asyncapi: dict[str, Any]) -> None:
    routes = client.app.routes  # type: ignore[attr-defined]
    sockets = {route.path for route in routes if isinstance(route, WebSocketRoute)}
    assert sockets
    assert sockets < {channel["address"] for channel in asyncapi["channels"].values()}


@pytest.mark.parametrize("name", ["openapi", "asyncapi"])
def test_all_references_resolve(name: str, request: pytest.FixtureRequest) -> None:
    document = request.getfixturevalue(name)
    references = {node["$ref"] for node in nodes(document) if isinstance(node.get("$ref"), str)}
    assert references
    for reference in references:
        place = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def test_schemas_are_valid_and_match_their_examples(openapi: dict[str, Any]) -> None:
    examples = 0
    for name, schema in openapi["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        for example in schema.get("examples", ()):
            assert_matches_schema(openapi, name, example)
            examples += 1
    assert examples > 8


def test_poll_messages_match_openapi_schema(client: TestClient, openapi: dict[str, Any], home: Path) -> None:
    first = client.get("/v1/poll", params={"table": TABLE}).json()
    assert_matches_schema(openapi, "Messages", first)
    kinds = [message["type"] for message in first["messages"]]
    assert (kinds[0], {*kinds[1:]}) == ("reset", {"rows"})
    append_days(home, 2)
    after = first["messages"][-1]["position"]
    second = client.get("/v1/poll", params={"table": TABLE, "after": after, "wait": 20}).json()
    assert_matches_schema(openapi, "Messages", second)
    assert [message["type"] for message in second["messages"]] == ["changes"]
    after = second["messages"][-1]["position"]
    third = client.get("/v1/poll", params={"table": TABLE, "after": after, "wait": 0}).json()
    assert_matches_schema(openapi, "Messages", third)
    assert [message["type"] for message in third["messages"]] == ["heartbeat"]


def test_websocket_messages_match_asyncapi_schema(client: TestClient, asyncapi: dict[str, Any]) -> None:
    subscribe = asyncapi["components"]["schemas"]["Subscribe"]["examples"][0]
    terms = asyncapi["components"]["schemas"]["Terms"]["examples"][0]
    with client.websocket_connect("ws://127.0.0.1:8789/v1/socket") as socket:
        socket.send_json(subscribe)
        messages = [socket.receive_json()]
        while "position" not in messages[-1]:
            messages.append(socket.receive_json())
        for message in messages:
            assert_matches_schema(asyncapi, "Message", message)
        assert {message["type"] for message in messages} == {"reset", "rows"}
        socket.send_json(terms)
        socket.send_json({"interval": -1})
        message = socket.receive_json()
        assert_matches_schema(asyncapi, "Closed", message)


def test_table_webhook_and_error_responses_match_openapi_schema(
    client: TestClient, openapi: dict[str, Any]
) -> None:
    assert_matches_schema(openapi, "Tables", client.get("/v1/tables").json())
    assert_matches_schema(openapi, "Health", client.get("/health").json())
    example = openapi["components"]["schemas"]["NewWebhook"]["examples"][0]
    created = client.post("/v1/webhooks", json=example)
    assert created.status_code == 201
    assert_matches_schema(openapi, "CreatedWebhook", created.json())
    listed = client.get("/v1/webhooks").json()
    assert_matches_schema(openapi, "Webhooks", listed)
    assert client.delete(f"/v1/webhooks/{listed['webhooks'][0]['id']}").status_code == 204
    refused = client.get("/v1/rows", params={"table": "gold.nothing"})
    assert refused.status_code == 400
    assert_matches_schema(openapi, "Error", refused.json())
    unknown = client.get("/v1/tables", headers={"Authorization": "Bearer none"})
    assert (unknown.status_code, unknown.headers["www-authenticate"]) == (401, "Bearer")
    assert_matches_schema(openapi, "Error", unknown.json())


def test_missing_table_responses_match_openapi_schema(client: TestClient, openapi: dict[str, Any]) -> None:
    later = client.get("/v1/rows", params={"sql": "SELECT channel FROM gold.attribution"})
    assert (later.status_code, later.headers["retry-after"]) == (503, "5")
    assert_matches_schema(openapi, "Error", later.json())
    assert "503" in openapi["paths"]["/v1/rows"]["get"]["responses"]
    missing = client.get("/v1/poll", params={"sql": "SELECT channel FROM gold.attribution", "wait": 0}).json()
    assert_matches_schema(openapi, "Messages", missing)
    assert missing["messages"] == [{"type": "warning", "reason": "missing", "tables": ["gold.attribution"]}]


def test_invalid_message_fails_schema_validation(openapi: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        assert_matches_schema(
            openapi, "Message", {"type": "changes", "changes": [{"change": "moved"}], "versions": {}}
        )
