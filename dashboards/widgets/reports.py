"""Serves the Data Docs to browsers on this machine."""

import functools
import http.server
import threading
from pathlib import Path
from typing import Any

import streamlit as st


class _Pages(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def address_of(home: Path) -> str | None:
    """URL of the Data Docs of a local workspace; None if there are none."""
    pages = home.resolve() / "quality" / "report"
    return f"{_serve(str(pages))}/index.html" if (pages / "index.html").is_file() else None


@st.cache_resource(show_spinner=False)
def _serve(pages: str) -> str:
    """Serve a folder on a free port until this process ends."""
    handler = functools.partial(_Pages, directory=pages)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, name="report", daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
