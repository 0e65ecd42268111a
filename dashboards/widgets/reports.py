"""The report on the quality of data (Data Docs), served to this machine's browsers."""

import functools
import http.server
import threading
from pathlib import Path
from typing import Any

import streamlit as st


class _Pages(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def address_of(home: Path) -> str | None:
    """Where the report of a home is served; None if there is none."""
    pages = home.resolve() / "quality" / "report"
    return f"{_serve(str(pages))}/index.html" if (pages / "index.html").is_file() else None


@st.cache_resource(show_spinner=False)
def _serve(pages: str) -> str:
    """Serve a folder on a port of its own, for as long as this process runs."""
    handler = functools.partial(_Pages, directory=pages)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, name="report", daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
