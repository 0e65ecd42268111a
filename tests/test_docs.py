"""Names, links, make targets, defaults and queries in the documentation match the code."""

import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from folds.rule_numbers import RuleNumbers
from kit.warehouse_builder import build_warehouse
from lakehouse.contracts import TABLES
from lakehouse.settings import load_settings
from millrace.tables.duckdb_views import run_query

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts")]

from reference import FOLDER, PAGES, command_group, written  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
SPARK = (ROOT / "src" / "lakehouse" / "run" / "spark_session.py").read_text(encoding="utf-8")
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
FOLDERS = ("src", "tests", "conf", "docs", "dashboards", "resources", "scripts", ".ci")
TABLE = r"(?<![\w./])(?:bronze|silver|gold|ops)\.[a-z_]+"


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


def code_of(text: str) -> str:
    """The text of fenced code blocks and inline code."""
    fenced = re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    return "\n".join([*fenced, *spans])


def anchors_of(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", RuleNumbers.model_fields)
def test_rules_page_states_default_of_each_rule_number(name: str) -> None:
    rules = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    default = written(RuleNumbers.model_fields[name].default)
    assert f"\n| `{name}` | {default} |" in rules, f"docs/rules.md: {name} with its default, {default}"


@pytest.mark.parametrize("file", PAGES)
def test_reference_page_matches_generated_page(file: str) -> None:
    assert (FOLDER / file).read_text(encoding="utf-8") == PAGES[file](), "run: make reference"


def test_settings_page_lists_each_environment_variable_read_by_the_code() -> None:
    sources = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    read = set(re.findall(r'environ(?:\.get\(|\[)"(MILLRACE_\w+)"', sources))
    assert read
    assert {name for name in read if f"| `{name}` |" not in PAGES["settings.md"]()} == set()


def test_readme_has_at_most_150_lines() -> None:
    assert len(README.splitlines()) <= 150


def test_commands_named_in_docs_exist() -> None:
    named = {
        (name_of(document), command)
        for document in DOCUMENTS
        for command in re.findall(r"\bmillrace ([a-z][a-z-]*)", code_of(document.read_text(encoding="utf-8")))
    }
    group = command_group()
    known = {"jars", *group.commands}
    assert {(place, command) for place, command in named if command not in known} == set()


def test_tables_named_in_docs_exist() -> None:
    named = {
        (name_of(document), table)
        for document in DOCUMENTS
        for table in re.findall(TABLE, document.read_text(encoding="utf-8"))
    }
    assert {(place, table) for place, table in named if table not in TABLES} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_internal_links_and_anchors_resolve(document: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        there = target.exists() and target.is_relative_to(ROOT)
        if not there or (anchor and anchor not in anchors_of(target.read_text(encoding="utf-8"))):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_paths_named_in_docs_exist(document: Path) -> None:
    named = re.findall(r"(?<![\w.~$/-])[\w.-]+(?:/[\w.-]+)+", code_of(document.read_text(encoding="utf-8")))
    ours = [path for path in named if path.split("/")[0] in FOLDERS]
    assert [path for path in ours if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_make_targets_named_in_docs_exist(document: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
    code = code_of(document.read_text(encoding="utf-8"))
    named = set(re.findall(r"^make ([a-z][a-z-]*)", code, re.MULTILINE))
    assert named - targets == set()


def test_queries_in_docs_run(tmp_path: Path) -> None:
    build_warehouse(tmp_path, {name: [] for name in TABLES})
    texts = [document.read_text(encoding="utf-8") for document in DOCUMENTS]
    queries = [query for text in texts for query in re.findall(r'millrace sql "([^"…]+)"', text)]
    queries += [query for text in texts for query in re.findall(r"`(SELECT [^`…]+)`", text)]
    assert queries
    for query in queries:
        run_query(load_settings(home=tmp_path), query)


def test_job_parameters_in_docs_have_no_comma() -> None:
    """The workspace's command line ends a value of `--params` at a comma: each parameter has its own."""
    deploy = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    commands = re.findall(r"^databricks bundle run .*--params.*$", deploy, re.MULTILINE)
    values = [value for line in commands for value in _values_of_params(line)]
    assert len(values) > 5
    assert [value for value in values if "," in value or value.count("=") != 1] == []


def _values_of_params(line: str) -> list[str]:
    words = shlex.split(line, comments=True)
    return [after for word, after in pairwise(words) if word == "--params"]


def test_each_spark_setting_has_a_documented_reason() -> None:
    reasons = (ROOT / "docs" / "decisions" / "0002-spark-settings.md").read_text(encoding="utf-8")
    names = set(re.findall(r'"(spark\.[A-Za-z.]+)"', SPARK))
    assert names
    assert {name for name in names if f"`{name}`" not in reasons} == set()


@pytest.mark.parametrize("decision", DECISIONS, ids=name_of)
def test_decision_record_has_its_four_sections_in_order(decision: Path) -> None:
    headings = re.findall(r"^## (.+)$", decision.read_text(encoding="utf-8"), re.MULTILINE)
    places = [
        next((at for at, heading in enumerate(headings) if heading.startswith(part)), -1)
        for part in ("Context", "Decision", "Figures", "Consequences")
    ]
    assert places == sorted(places)
    assert -1 not in places


def test_decision_records_have_numbers_of_their_own() -> None:
    """A number is given before its page is written, so that one may be missing for a while."""
    numbers = [int(decision.name[:4]) for decision in DECISIONS]
    assert numbers == sorted(set(numbers))


def test_index_of_decisions_has_every_record_where_it_belongs() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    in_force, superseded = (
        re.findall(r"^\| \[(\d{4})\]\(([^)]+)\) \| (.+) \|$", part, re.MULTILINE)
        for part in index.split("## Superseded")
    )
    records: dict[bool, list[tuple[str, str, str]]] = {False: [], True: []}
    for decision in DECISIONS:
        title, _, text = decision.read_text(encoding="utf-8").partition("\n\n")
        number, _, name = title.removeprefix("# ").partition(": ")
        records[text.startswith("Superseded by")].append((number, decision.name, name))
    assert sorted(in_force) == records[False]
    assert superseded == records[True]


def test_site_navigation_has_every_page() -> None:
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    named = re.findall(r'"([\w/-]+\.md)"', text)
    pages = (ROOT / "docs").rglob("*.md")
    assert sorted(named) == sorted(str(page.relative_to(ROOT / "docs")) for page in pages)


@pytest.mark.skipif(find_spec("zensical") is None, reason="the site generator needs Python 3.11")
def test_documentation_site_builds_without_warnings(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "site" / "reference" / "tables" / "index.html").is_file()
