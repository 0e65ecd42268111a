"""Requests that schemathesis generates from the OpenAPI document get documented responses."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from kit.api_client import from_this_machine
from kit.warehouse_builder import append_rows
from lakehouse.readers.folder_tables import FolderTables
from serving.api.application import Site, application
from serving.description.operations import OPERATIONS
from serving.stream.hub import Hub, Limits
from serving.stream.subscription import Terms

schemathesis = pytest.importorskip("schemathesis")

from schemathesis.specs.openapi.checks import (  # noqa: E402
    positive_data_acceptance,
    unsupported_method,
)

_STREAM_PATH = "/v1/changes"


@pytest.fixture(scope="module")
def api_schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    home: Path = tmp_path_factory.mktemp("home")
    append_rows(home, "gold.funnel", [{"day": date(2026, 1, 1), "step": "visit", "visitors": 1}])
    hub = Hub(FolderTables(home / "warehouse"), Limits())
    app = application(hub, Terms(), 30.0, Site(home, home / "conf", trusts_local=True))
    yield schemathesis.openapi.from_asgi("/openapi.json", from_this_machine(app))
    hub.stop()


@pytest.mark.parametrize(("method", "path"), [each for each in OPERATIONS if each[1] != _STREAM_PATH])
def test_generated_requests_get_documented_responses(api_schema: Any, method: str, path: str) -> None:
    operation = api_schema[path][method]

    @settings(max_examples=15, deadline=None, suppress_health_check=[*HealthCheck])
    @given(operation.as_strategy())
    def send_case(case: Any) -> None:
        if path == "/v1/poll":
            case.query = {"table": "gold.funnel", **(case.query or {}), "wait": 0}
        case.call_and_validate(excluded_checks=[positive_data_acceptance, unsupported_method])

    send_case()
