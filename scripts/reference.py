"""Writes docs/reference: commands, settings and tables, from typer, pydantic and the contracts.

Run by `make reference`. `make test` fails while a page differs from the code.
"""

import re
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from enum import EnumMeta
from pathlib import Path
from typing import Any

import typer
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from typer.core import TyperArgument, TyperCommand, TyperGroup

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]

from lakehouse.contracts import TABLES, Table  # noqa: E402
from lakehouse.contracts.ops import READS  # noqa: E402
from lakehouse.settings import Settings  # noqa: E402
from millrace.cli import register_commands  # noqa: E402

FOLDER = ROOT / "docs" / "reference"
_LAYERS = {
    "bronze": "Records of Kafka, as received.",
    "silver": "Events without duplicates, and what follows from one visitor's events.",
    "gold": "Conversions, credit and metrics.",
    "ops": "The pipeline's own records.",
}
_WRITERS = {READS.name: "the streaming API, `millrace sql` and the pages"}


def command_group() -> TyperGroup:
    """The group of all commands in `millrace --help`."""
    app = typer.Typer()
    register_commands(app)
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group


def commands_of(group: TyperGroup, prefix: str = "") -> dict[str, TyperCommand]:
    """The commands of a group by name; commands of nested groups as `group command`."""
    found: dict[str, TyperCommand] = {}
    for name, command in sorted(group.commands.items()):
        if isinstance(command, TyperGroup):
            if command.callback and command.invoke_without_command:
                found[f"{prefix}{name}"] = command
            found |= commands_of(command, f"{prefix}{name} ")
        elif isinstance(command, TyperCommand) and not command.hidden:
            found[f"{prefix}{name}"] = command
    return found


def commands_page() -> str:
    """The text of docs/reference/commands.md."""
    lines = [
        "# Commands",
        "",
        "An error is one line: the problem, and what to do next. `millrace --verbose COMMAND` adds the stack",
        "trace. `millrace --version` prints the version. Every command has `--help`.",
    ]
    for name, command in commands_of(command_group()).items():
        lines += ["", f"## millrace {name}", "", *_usage(name, command), "", *_help(command)]
        if rows := [_option(param) for param in command.params if param.name != "help"]:
            lines += ["", "| argument or option | meaning | default |", "| --- | --- | --- |", *rows]
    return "\n".join(lines) + "\n"


def _usage(name: str, command: TyperCommand) -> Iterator[str]:
    params = [param for param in command.params if param.name != "help"]
    words = [_name(param) if param.required else f"[{_name(param)}]" for param in params]
    yield from ("```text", " ".join(["millrace", name, *words]), "```")


def _name(param: Any) -> str:
    if isinstance(param, TyperArgument):
        return str(param.metavar or param.name.upper())
    option = "/".join((param.opts[0], *param.secondary_opts))
    if param.is_flag:
        return option
    kind = param.type_descriptor.annotation
    choices = "|".join(each.value for each in kind) if isinstance(kind, EnumMeta) else ""
    return f"{option} {param.metavar or choices or option.strip('-').upper().replace('-', '_')}"


def _help(command: TyperCommand) -> list[str]:
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", (command.help or "").strip())
    return [re.sub(" +", " ", line) for line in text.split("\n")]


def _option(param: Any) -> str:
    value = getattr(param.default, "value", param.default)
    default = "" if value in (None, "", False) or param.required else f"`{value}`"
    if param.required:
        default = "required"
    return f"| `{_cell(_name(param))}` | {_cell(param.help or '')} | {default} |"


def settings_page() -> str:
    """The text of docs/reference/settings.md."""
    head = """# Settings

A setting comes from a flag or parameter, else from the environment variable below, else from the variable
of `bundle.yml` with the same name in lower case and without `MILLRACE_`, in the target's value. Entry points
of the wheel take settings as parameters: `--events_topic=orders`. An empty environment variable unsets a
setting whose default is none.

| variable | default | meaning |
| --- | --- | --- |
"""
    rows = [_setting(name, field) for name, field in Settings.model_fields.items()]
    more = """
## Read by set-up

| variable | default | meaning |
| --- | --- | --- |
| `MILLRACE_CACHE` | `~/.cache/millrace/jars` | folder of the jars |
| `MILLRACE_IVY_SETTINGS` | none | an Ivy settings file, to fetch the jars from a mirror |
| `JAVA_HOME` | the `java` on the path | the Java installation |
| `make setup PYTHON=…` | the first `python3` that is new enough | Python of `.venv` |

## Read by the dashboard

| variable | default | meaning |
| --- | --- | --- |
| `DATABRICKS_WAREHOUSE_ID` | none | SQL warehouse that reads `MILLRACE_CATALOG`; set by the bundle |
| `MILLRACE_DATA_DOCS` | none | URL of the expectation reports; unset, those in the home |

## Folders of a home

| folder of `MILLRACE_HOME` | content |
| --- | --- |
| `warehouse/` | Delta tables |
| `checkpoints/` | checkpoints of streaming queries |
| `collect/` | logs of collectors: events that wait for Kafka, shed events, receipts |
| `kafka/` | data of the local broker |
| `manifests/` | what clients sent |
| `privacy/` | register of privacy requests, its keys, certificates, erasures that have not ended |
| `rejected/` | lines that `millrace load` could not read |
| `mlflow/` | MLflow's runs and models |
| `quality/` | expectation reports |
| `logs/`, `runs/` | logs; a record and a log of each run of a job |
| `run/` | locks and process ids |
| `serve/` | webhooks of the streaming API |
| `serving/` | key of masked values and of cookies |
| `shop/` | database of the sample shop |
| `spark/` | scratch space |

A home has one workspace and one Spark application that writes, which locks ensure. Readers (`sql`, `status`,
the dashboard) need no lock.
"""
    return head + "\n".join(rows) + "\n" + more


def _setting(name: str, field: FieldInfo) -> str:
    meaning = _cell(field.description or "")
    return f"| `MILLRACE_{name.upper()}` | {written(field.default)} | {meaning} |"


def written(default: object) -> str:
    """A default value in the format of the setting; durations in ISO 8601."""
    if default is None:
        return "none"
    if isinstance(default, timedelta):
        default = TypeAdapter(timedelta).dump_python(default, mode="json")
    return f"`{default}`"


def tables_page() -> str:
    """The text of docs/reference/tables.md."""
    lines = [
        "# Tables",
        "",
        "Delta tables, under `warehouse/<layer>/<table>` of a home, or in the schemas of a catalog.",
        "Times are UTC. Columns marked *provenance* depend on the order of arrival; all others do not.",
    ]
    for layer, meaning in _LAYERS.items():
        own = [table for table in TABLES.values() if table.layer == layer]
        lines += ["", f"## {layer}", "", meaning, "", "| table | one row is |", "| --- | --- |"]
        lines += [_link(table) for table in own]
        for table in own:
            lines += _table(table)
    return "\n".join(lines) + "\n"


def _link(table: Table) -> str:
    return f"| [`{table.name}`](#{table.name.replace('.', '')}) | {_cell(table.summary)} |"


def _table(table: Table) -> Iterator[str]:
    yield from ("", f"### {table.name}", "", f"One row is {table.summary}.", "")
    facts = {
        "Grain": table.grain,
        "Key": ", ".join(f"`{name}`" for name in table.key) or "none",
        "Event time": f"`{table.event_time}`" if table.event_time else "none",
        "Partitioned by": ", ".join(f"`{name}`" for name in table.partitioned_by),
        "Inputs": ", ".join(f"`{name}`" for name in table.inputs),
        "Writer": f"`{table.writer}`" if table.writer else _WRITERS.get(table.name, "every job"),
    }
    yield " · ".join(f"**{name}** {value}" for name, value in facts.items() if value)
    yield from ("", "| column | type | meaning |", "| --- | --- | --- |")
    for column in table.columns:
        meaning = _cell(column.meaning) + (" *(provenance)*" if column.provenance else "")
        yield f"| `{column.name}` | `{column.type}` | {meaning} |"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "settings.md": settings_page,
    "tables.md": tables_page,
}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, page in PAGES.items():
        (FOLDER / file).write_text(page(), encoding="utf-8")
