"""Takes notes in ops.reads of who sees which versions of tables, if MILLRACE_RECORD_READS is set."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import access
import streamlit as st
import viewer
from tables.table_cache import Look

from lakehouse.access.policy import ADMIN
from lakehouse.access.read_log import ReadLog, local_user, log_of
from lakehouse.contracts import TABLES

_YES = ("1", "true", "t", "yes", "y", "on")


def note(look: Look, body: Callable[..., Any]) -> None:
    """Note the versions that the figures of a page were computed from.

    Args:
        look: the snapshot of the page.
        body: the function that shows the page; its file has the page's name.
    """
    is_wanted = os.environ.get("MILLRACE_RECORD_READS", "").lower() in _YES
    if not is_wanted or os.environ.get("MILLRACE_CATALOG"):
        return
    versions = {table: version.number for table, version in look.read.items() if table in TABLES}
    reader, page = access.account() or local_user(), Path(body.__code__.co_filename).stem
    _reads(str(viewer.home())).note(reader, look.role or ADMIN, "page", versions, page)


@st.cache_resource(show_spinner=False)
def _reads(of_home: str) -> ReadLog:
    """One for all viewers."""
    return log_of(Path(of_home) / "warehouse")
