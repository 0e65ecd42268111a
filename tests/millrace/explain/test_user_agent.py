"""`millrace explain user-agent`: the line of conf/ that makes a user agent a bot's."""

import json

import pytest
from typer.testing import CliRunner

from lakehouse.settings import load_settings
from millrace.cli import app, register_commands
from millrace.explain.user_agent import explain_user_agent

CONF = load_settings().conf


def run(*arguments: str) -> str:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, ["explain", "user-agent", *arguments], catch_exceptions=False)
    return answer.stdout


@pytest.mark.parametrize(
    ("agent", "library", "file", "matched"),
    [
        ("Googlebot/2.1", "", "bots.yml", "bots?(?![a-z])"),
        ("Mozilla/5.0 (compatible; Yahoo! Slurp)", "", "crawlers.yml", "slurp"),
        ("", "millrace-access-log", "bots.yml", "no user agent"),
    ],
)
def test_line_that_makes_a_bot_is_named(agent: str, library: str, file: str, matched: str) -> None:
    reason = explain_user_agent(CONF, agent, library)
    assert (reason.is_bot, reason.file, reason.matched) == (True, file, matched)
    assert reason.line is not None
    line = (CONF / file).read_text(encoding="utf-8").splitlines()[reason.line - 1]
    assert (library or matched) in line
    assert run(agent, "--library", library) == f"bot\n  by conf/{file}, line {reason.line}: {matched}\n"


def test_person_matches_nothing() -> None:
    assert run("okhttp/4.9.2").startswith("no bot\n")
    assert json.loads(run("-", "--json")) == {"is_bot": False, "matched": None, "file": None, "line": None}
