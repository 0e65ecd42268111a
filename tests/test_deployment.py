"""Each command of docs/deploy.md, with the command line of Databricks and a workspace on loopback."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from kit.home import ROOT
from kit.vendor_cli import Workspace, build, why_not, workspace

pytestmark = [pytest.mark.long, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
PAGE = (ROOT / "docs" / "deploy.md").read_text().partition("## On a laptop")[0]
COMPLAINT = re.compile(r"(?i)\b(warning|warn|error|recommendation|deprecated)\b")
PRINCIPAL, USER = (f"dbapi{kind}{uuid4().hex}" for kind in (1, 0))
UNRESOLVED = re.compile(r"\$\{(var|resources|bundle|workspace)\.")


def blocks(language: str) -> list[str]:
    """The code of the page in a language."""
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """The commands of the page, in order."""
    lines = [line.strip() for text in blocks("sh") for line in text.splitlines()]
    found = [shlex.split(line.replace("$(openssl rand -hex 32)", "00" * 32), comments=True)[1:]
             for line in lines if line.startswith("databricks ")]  # fmt: skip
    assert len(found) > 15
    return found


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with workspace(tmp_path_factory.mktemp("workspace"), *build(tmp_path_factory.mktemp("built"))) as running:
        yield running


@pytest.fixture(scope="module")
def checkout(cloud: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tracked files, with the variables that the page has for production, and those of a copy."""
    folder: Path = tmp_path_factory.mktemp("checkout") / "millrace"
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    me = json.loads(must(cloud, folder, "current-user", "me", "-o", "json", token=PRINCIPAL))
    given = {**json.loads(blocks("json")[0]), "run_as_service_principal": me["userName"]}
    needed = ("catalog", "kafka_bootstrap", "node_type_id")
    set_variables(folder, "prod", given)
    set_variables(folder, "dev", {name: given[name] for name in needed})
    return folder


def set_variables(folder: Path, target: str, values: dict[str, object]) -> None:
    file = folder / ".databricks" / "bundle" / target / "variable-overrides.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(values))


def must(cloud: Workspace, checkout: Path, *arguments: str, token: str) -> str:
    """Run a command, which must neither fail nor complain."""
    done = cloud.run(checkout, *arguments, token=token)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    assert not COMPLAINT.search(done.stderr), (arguments, done.stderr)
    return done.stdout


def test_each_command_of_the_page_works_without_a_warning(cloud: Workspace, checkout: Path) -> None:
    must(cloud, checkout, "bundle", "deploy", token=USER)
    for command in commands():
        must(cloud, checkout, *command, token=USER if "dev" in command else PRINCIPAL)
    assert not cloud.errors
    assert not [each for each in cloud.requests if UNRESOLVED.search(each["body"])]
    asked = [each["path"] for each in cloud.requests]
    assert {f"/api/2.0/apps/millrace{kind}-prod" for kind in ("", "-in", "-api")} <= {*asked}
    assert len(cloud.tasks) > 10


def test_destroy_removes_a_copy_and_is_refused_in_production(cloud: Workspace, checkout: Path) -> None:
    must(cloud, checkout, "bundle", "destroy", "--auto-approve", token=USER)
    refused = cloud.run(checkout, "bundle", "destroy", "-t", "prod", "--auto-approve", token=PRINCIPAL)
    assert refused.returncode != 0
    assert "prevent_destroy" in refused.stderr
