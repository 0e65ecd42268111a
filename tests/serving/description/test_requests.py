"""Requests that schemathesis generates from the OpenAPI document get documented responses."""

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


@pytest.fixture
def api_schema(tmp_path: Path) -> Any:
    """The schema of an application for one test, after which schemathesis ends its lifespan."""
    append_rows(tmp_path, "gold.funnel", [{"day": date(2026, 1, 1), "step": "visit", "visitors": 1}])
    hub = Hub(FolderTables(tmp_path / "warehouse"), Limits())
    app = application(hub, Terms(), 30.0, Site(tmp_path, tmp_path / "conf", trusts_local=True))
    return schemathesis.openapi.from_asgi("/openapi.json", from_this_machine(app))


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
