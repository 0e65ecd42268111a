"""The gate before gold, and the way to the report on the quality of data."""

import functools
import http.server
import threading
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import streamlit as st

HELD = ("closed", "replayed")


class Gate(NamedTuple):
    """How the gate is: held or not, and the expectations that hold it."""

    held: bool
    reasons: tuple[str, ...]


class _Pages(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def gate(changes: pl.LazyFrame) -> Gate:
    """Read the gate's latest change.

    Args:
        changes: ops.gates; may be empty.
    """
    last = changes.sort("sequence").tail(1).collect().to_dicts()
    held = bool(last) and last[0]["state"] in HELD
    return Gate(held, tuple(last[0]["reasons"]) if held else ())


def show(gate: Gate, pages: Path) -> None:
    """Say that gold is held, and why; lead to the report, if there is one."""
    if gate.held:
        st.error(f"Gold is held at its last good state: {'; '.join(gate.reasons)}", icon=":material/block:")
    if (pages / "index.html").is_file():
        st.link_button("Report on the quality of data", f"{serve(str(pages))}/index.html")


@st.cache_resource
def serve(pages: str) -> str:
    """Serve the report to this machine's browsers, from a port of its own; where."""
    handler = functools.partial(_Pages, directory=pages)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, name="report", daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
