"""The examples of docs/streaming.md run as written, except for ports and ids."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from sqlite3 import OperationalError, connect
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

from kit.access import token_of, with_tokens
from kit.api_process import ApiProcess, api_process
from kit.delivered import Delivered, delivered
from kit.home import ROOT, command
from kit.http_json import json_lines
from kit.message_fold import MessageFold, in_order
from kit.network import network
from kit.polling import eventually
from kit.programs import required
from kit.proxies import haproxy
from kit.running_dashboard import answers
from kit.sdk_clients import FOLDER, install_clients
from kit.warehouse_builder import append_rows, replace_rows
from millrace.local.process.ports import stable_port

DOCUMENT = (ROOT / "docs" / "streaming.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
CURLS = [
    line
    for kind, text in BLOCKS
    if kind == "sh"
    for line in re.split(r"\n(?=curl)", text.strip())
    if line.startswith("curl")
]
TABLE = "gold.funnel"
_VALUES = r"[0-9a-f]{8}~|:\d+:[0-9a-f]+|:\d+|\[.*?\]"
WEBHOOK = "whk_0123456789abcdef"


def block(kind: str, marker: str) -> str:
    (found,) = [text for language, text in BLOCKS if language == kind and marker in text]
    return found


def funnel(day: int, visitors: int = 1, step: str = "visit") -> dict[str, Any]:
    return {"day": date(2026, 11, 1) + timedelta(day), "step": step, "visitors": visitors}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    append_rows(tmp_path, TABLE, [funnel(0, 3), funnel(1), funnel(1, 5, "search")])
    credit = {"model": "last", "channel": "Email", "position": 1, "credit": 1.0, "conversion_id": "c"}
    append_rows(tmp_path, "gold.attribution", [{**credit, "credited_reporting_value": Decimal("12.50")}])
    append_rows(tmp_path, "gold.traffic", [])
    append_rows(tmp_path, "gold.conversions", [{"conversion_id": "c", "goal": "Order Completed"}])
    return tmp_path


@pytest.fixture
def server(home: Path) -> Iterator[ApiProcess]:
    with_tokens(home, "local: admin\n", reader="admin")
    with api_process(home, place=home) as server:
        yield server


def rows_of(server: ApiProcess) -> list[dict[str, Any]]:
    return in_order(json_lines(f"{server.url}/v1/rows?table={TABLE}"))


def change(home: Path, number: int) -> None:
    """Make two commits: one updates and deletes rows, one inserts a row."""
    replace_rows(home, TABLE, [funnel(day, number) for day in range(number % 3 + 1)])
    append_rows(home, TABLE, [funnel(10 + number)])


@contextmanager
def running(*arguments: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A program in a process group of its own, killed at the end of the block."""
    process = subprocess.Popen(
        arguments,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def read_until(process: "subprocess.Popen[str]", marker: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if marker in line:
            break
    assert marker in lines[-1], lines
    return lines


def test_every_curl_example_runs(server: ApiProcess, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", token_of("reader"))
    kinds = []
    with delivered() as receiver:
        for text in CURLS:
            asked = text.replace(":8789", f":{server.port}").replace(":8000", f":{receiver.port}")
            kinds.append(_run_curl(asked, receiver, home))
    assert sorted(kinds) == ["deleted", *["json"] * 4, *["rows"] * 3, "stream", "stream"]


def _run_curl(asked: str, receiver: Delivered, home: Path) -> str:
    with running("bash", "-c", asked.replace(WEBHOOK, receiver.secret or WEBHOOK), folder=home) as process:
        if "-sN" in asked:
            read_until(process, "id: ")
            return "stream"
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 0, output
    if "/v1/rows" in asked and "table=funnel" not in asked:
        rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        if "sql=" in asked:
            assert rows == [{"channel": "Email", "value": "12.5000"}]
        elif "where=" in asked:
            assert rows == [{"day": "2026-11-01", "step": "visit", "visitors": 3}]
        else:
            assert len(rows) == 3
            assert re.search("millrace-position: [0-9a-f]{8}~gold.funnel:0:", output)
        return "rows"
    if "DELETE" in asked:
        assert output == ""
        return "deleted"
    answer = json.loads(output)
    if "secret" in answer:
        receiver.secret = answer["id"]  # the id that the next example deletes; another test covers signatures
    assert ("error" in answer) is ("table=funnel" in asked)
    return "json"


def test_documented_messages_match_sent_messages(server: ApiProcess) -> None:
    text = block("text", "event: reset")
    with running("curl", "-sN", f"{server.url}/v1/changes?table={TABLE}", folder=ROOT) as process:
        sent = read_until(process, '"position"')
    documented = [line for line in text.splitlines() if line][:5]
    shapes = [re.sub(_VALUES, "", line.strip()) for line in documented]
    assert [re.sub(_VALUES, "", line.strip()) for line in sent if line.strip()] == shapes


def test_python_example_survives_kills(server: ApiProcess, home: Path, tmp_path: Path) -> None:
    program = tmp_path / "follow.py"
    program.write_text(block("python", "funnel.db").replace(":8789", f":{server.port}"))

    def copied() -> list[dict[str, Any]]:
        with closing(connect(tmp_path / "funnel.db")) as database:
            try:
                found = database.execute("SELECT * FROM funnel").fetchall()
            except OperationalError:  # not there yet
                return []
        names = ("day", "step", "visitors")
        return in_order([dict(zip(names, row, strict=True)) for row in found])

    for number in range(1, 5):
        with running(sys.executable, str(program), folder=tmp_path):
            expected = rows_of(server)
            eventually(lambda: copied() == expected, 20, "it has the table")  # noqa: B023
            change(home, number)
        change(home, number + 4)
    with running(sys.executable, str(program), folder=tmp_path):
        eventually(lambda: copied() == rows_of(server), 20)


@pytest.mark.browser
def test_event_source_example_recovers_from_connection_cut(
    server: ApiProcess, home: Path, browser: BrowserContext
) -> None:
    with network(server.port) as proxy:
        page = _page_with(browser, proxy.port)

        def folded() -> list[dict[str, Any]]:
            return in_order(page.evaluate("[...rows.values()]"))

        eventually(lambda: folded() == rows_of(server))
        change(home, 1)
        eventually(lambda: folded() == rows_of(server))
        proxy.cut()
        change(home, 2)
        proxy.mend()
        eventually(lambda: folded() == rows_of(server), 30)


def _page_with(browser: BrowserContext, port: int) -> Any:
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{port}/health")
    page.add_script_tag(content=block("js", "EventSource").replace(":8789", f":{port}"))
    return page


@pytest.mark.long
def test_node_example_recovers_from_cuts_and_restarts(server: ApiProcess, home: Path, tmp_path: Path) -> None:
    install_clients()
    (tmp_path / "node_modules").symlink_to(FOLDER / "node_modules")
    program = tmp_path / "follow.mjs"
    fold = MessageFold()
    with network(server.port) as proxy:
        program.write_text(block("js", "WebSocket").replace(":8789", f":{proxy.port}"))
        with running(required("node"), str(program), folder=tmp_path) as process:
            for number in range(1, 7):
                if number == 2:
                    proxy.cut()
                if number == 4:
                    server.kill()
                change(home, number)
                proxy.mend()
                if number == 4:
                    server.start()
                expected = rows_of(server)
                while fold.rows != expected:
                    for message in json.loads(read_until(process, "\n")[-1]):
                        fold.take(message)


def test_signature_example_accepts_only_genuine_deliveries(server: ApiProcess, home: Path) -> None:
    scope: dict[str, Any] = {}
    exec(block("python", "is_genuine"), scope)
    genuine: list[bool] = []

    class Checking(Delivered):
        def take(self, headers: dict[str, str], body: bytes) -> None:
            secret = eventually(lambda: self.secret)
            genuine.extend(
                [
                    scope["is_genuine"](secret, headers, body),
                    scope["is_genuine"](secret, headers, body + b" "),
                    scope["is_genuine"](secret, {**headers, "webhook-id": "other"}, body),
                    scope["is_genuine"](secret, {**headers, "webhook-timestamp": "1"}, body),
                ]
            )

    with delivered(Checking()) as receiver:
        asked = json.dumps({"url": receiver.url, "table": TABLE})
        made = subprocess.check_output(["curl", "-s", f"{server.url}/v1/webhooks", "-d", asked])
        receiver.secret = json.loads(made)["secret"]
        eventually(lambda: genuine, 20)
    assert genuine[:4] == [True, False, False, False]


@pytest.mark.long
def test_load_balancer_fails_subscriber_over_to_other_node(home: Path, tmp_path: Path) -> None:
    with_tokens(tmp_path, "local: admin\n", shop="admin")
    fold, ports = MessageFold(), (stable_port(), stable_port())
    one, other = (ApiProcess(home, port, place=tmp_path) for port in ports)
    one.start()
    with haproxy("api", tmp_path, ports, "/health") as front:
        balanced = f"http://127.0.0.1:{front}"
        try:
            other.start()
            position = None
            for number, (dies, lives) in enumerate(((one, other), (other, one))):
                if number:
                    lives.start()
                eventually(lambda: answers(f"{balanced}/health"), 20)
                position = _follow(balanced, position, fold, rows_of(lives))
                dies.kill()
                change(home, number)
                eventually(lambda: answers(f"{balanced}/health"), 20)
                before = position
                position = _follow(balanced, position, fold, rows_of(lives))
                assert position != before
        finally:
            one.kill()
            other.kill()


def _follow(url: str, position: str | None, fold: MessageFold, expected: list[dict[str, Any]]) -> str:
    """Follow by curl until the fold is as expected. Returns the position."""
    head = ["-H", f"Authorization: Bearer {token_of('shop')}"]
    head += ["-H", f"Last-Event-ID: {position}"] if position else []
    waiting: list[dict[str, Any]] = []
    is_first = True
    with running("curl", "-sN", *head, f"{url}/v1/changes?table={TABLE}", folder=ROOT) as process:
        while position is None or fold.rows != expected:
            line = read_until(process, "\n")[-1]
            if not line.startswith("data:"):
                continue
            message = json.loads(line[5:])
            assert not (is_first and position and message["type"] == "reset"), "it went on"
            is_first = False
            waiting.append(message)
            if "position" in message:
                for each in waiting:
                    fold.take(each)
                waiting, position = [], message["position"]
    assert position is not None
    return position


def test_documented_commands_and_files_exist() -> None:
    shown = block("sh", "haproxy -f")
    for line in shown.splitlines():
        words = line.removesuffix(" &").split()
        if words[0] == "millrace":
            done = subprocess.run(
                [*command(words[1]), "--help"], capture_output=True, text=True, check=True, cwd=ROOT
            )
            assert words[2] in done.stdout
        else:
            assert (ROOT / words[2]).is_file()
