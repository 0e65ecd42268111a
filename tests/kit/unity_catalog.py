"""A fake Unity Catalog model registry on loopback, with the REST calls of MLflow's client.

Models are in memory. Files are uploaded to presigned URLs of the same server.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kit.http_server import Request, serving

Answer = tuple[int, dict[str, Any]]
_MISSING: Answer = (404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "there is no such thing"})
_PREFIX = "/api/2.0/mlflow/unity-catalog/"


class ModelRegistry:
    """Registered models and their versions. Search results have no tags."""

    def __init__(self) -> None:
        self.models: dict[str, list[dict[str, Any]]] = {}
        self.uploaded: dict[str, bytes] = {}
        self.address = ""

    def answer(self, method: str, path: str, given: dict[str, Any]) -> Answer:
        kind, _, call = path.removeprefix(_PREFIX).partition("/")
        handler = getattr(self, f"_{kind}_{call}".replace("-", "_"), None)
        return handler(given) if handler else self._upload(method, path, given)

    def _registered_models_get(self, given: dict[str, Any]) -> Answer:
        name = given["name"]
        return (200, {"registered_model": {"name": name}}) if name in self.models else _MISSING

    def _registered_models_create(self, given: dict[str, Any]) -> Answer:
        self.models[given["name"]] = []
        return 200, {"registered_model": {"name": given["name"]}}

    def _model_versions_search(self, given: dict[str, Any]) -> Answer:
        name = given["filter"].split("'")[1]
        found = [{**version, "tags": []} for version in self.models.get(name, [])]
        return 200, {"model_versions": found}

    def _model_versions_get(self, given: dict[str, Any]) -> Answer:
        return 200, {"model_version": self._version(given)}

    def _model_versions_create(self, given: dict[str, Any]) -> Answer:
        versions = self.models[given["name"]]
        made = {
            "name": given["name"],
            "version": str(len(versions) + 1),
            "status": "PENDING_REGISTRATION",
            "source": given["source"],
            "storage_location": "s3://nowhere/model",
            "tags": given.get("tags", []),
        }
        versions.append(made)
        return 200, {"model_version": made}

    def _model_versions_finalize(self, given: dict[str, Any]) -> Answer:
        version = self._version(given)
        version["status"] = "READY"
        return 200, {"model_version": version}

    def _model_versions_generate_temporary_credentials(self, given: dict[str, Any]) -> Answer:
        return 200, {"credentials": {"storage_mode": "DEFAULT_STORAGE"}}

    def _version(self, given: dict[str, Any]) -> dict[str, Any]:
        return self.models[given["name"]][int(given["version"]) - 1]

    def _upload(self, method: str, path: str, given: dict[str, Any]) -> Answer:
        """Handle upload URLs and uploads of model files."""
        if path.endswith("create-upload-url"):
            return 200, {"url": f"{self.address}/put{given['path']}", "headers": []}
        if method == "PUT" and path.startswith("/put/"):
            self.uploaded[path.removeprefix("/put")] = given["body"]
            return 200, {}
        return _MISSING


@contextmanager
def model_registry() -> Iterator[ModelRegistry]:
    """Serve a registry until the block ends."""
    registry = ModelRegistry()

    def respond(request: Request) -> None:
        parts = urlsplit(request.path)
        body = request.body()
        given: dict[str, Any] = {name: values[0] for name, values in parse_qs(parts.query).items()}
        is_json = body.startswith(b"{") and not parts.path.startswith("/put/")
        given |= json.loads(body) if is_json else {"body": body}
        code, answer = registry.answer(request.command, parts.path, given)
        request.answer(code, json.dumps(answer).encode(), "application/json")

    with serving(respond) as port:
        registry.address = f"http://127.0.0.1:{port}"
        yield registry
