"""The collector's Databricks app pins every package that it imports."""

import json
import re
import subprocess
import sys

from kit.home import ROOT

LIST_IMPORTED_PACKAGES = """
import json, sys
from importlib.metadata import packages_distributions
import millrace.cli, millrace.clients.topic, millrace.local.process.ports, bronze.kafka_auth, intake.server
found = packages_distributions()
names = {each.split(".")[0] for each in sys.modules}
print(json.dumps(sorted({found[name][0] for name in names & found.keys()})))
"""


def test_collector_app_pins_every_imported_package() -> None:
    text = (ROOT / "collector" / "requirements.txt").read_text()
    pinned = {_normal(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}
    assert "databricks-sdk" in pinned
    env = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", LIST_IMPORTED_PACKAGES], env=env, capture_output=True, text=True, check=True
    )
    imported = {_normal(name) for name in json.loads(done.stdout)}
    optional = {"millrace", "setuptools", "python-multipart"}  # starlette tries the last one, for forms
    assert imported - pinned - optional == set()


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")
