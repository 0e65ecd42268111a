"""The Databricks apps of the collector and of the streaming API pin every package that they import."""

import json
import re
import subprocess
import sys

import pytest

from kit.home import ROOT

LIST_IMPORTED_PACKAGES = """
import importlib, json, sys
from importlib.metadata import packages_distributions
for name in sys.argv[1:]:
    importlib.import_module(name)
found = packages_distributions()
names = {each.split(".")[0] for each in sys.modules}
print(json.dumps([found[name] for name in names & found.keys()]))
"""
MODULES = {
    "collector": ("millrace.clients.topic", "bronze.kafka_auth", "intake.server"),
    "api": (
        *("serving.api.server", "serving.processes.query_tasks", "lakehouse.readers.open_tables"),
        *("lakehouse.readers.sql_warehouse", "databricks.sql", "databricks.sdk", "lakehouse.access.policy"),
    ),
}
COMMON = ("millrace.cli", "millrace.local.process.ports", "millrace.local.bind_policy")


@pytest.mark.parametrize("app", MODULES)
def test_app_pins_every_imported_package(app: str) -> None:
    text = (ROOT / app / "requirements.txt").read_text()
    pinned = {_normal(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}
    assert "databricks-sdk" in pinned
    command = [sys.executable, "-c", LIST_IMPORTED_PACKAGES, *COMMON, *MODULES[app]]
    env = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    # The first two are optional: pyarrow tries one, starlette the other, for forms.
    known = pinned | {"cloudpickle", "python-multipart", "millrace", "setuptools"}
    imported = [{_normal(name) for name in of_module} for of_module in json.loads(done.stdout)]
    assert [names for names in imported if not names & known] == []


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")
