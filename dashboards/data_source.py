"""Configuration of the application, from environment variables: where it reads tables and state."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import streamlit as st
import viewer
from tables.backend import Backend
from tables.delta_backend import LocalTables
from tables.restricted_backend import RestrictedTables
from tables.table_cache import Lake
from viewer import home
from widgets import reports

from lakehouse.access.role import Role
from lakehouse.readers.sql_warehouse import has_warehouse, sql_warehouse

CURRENCY = os.environ.get("MILLRACE_REPORTING_CURRENCY", "EUR")
_ROLES = 16  # whose results are cached
_MOST_BYTES_OF_A_ROLE = 32 * 2**20
ZONE = os.environ.get("MILLRACE_BUSINESS_TIME_ZONE", "UTC")


def lake() -> Lake:
    """The tables of the catalog if one is configured, else those of the local workspace, as the viewer
    sees them.

    Each role has its own cache: nobody gets what was read for another one.
    """
    place = os.environ.get("MILLRACE_CATALOG", ""), str(home() / "warehouse")
    role = viewer.role()
    if role is None:
        st.stop()
    return _open(*place) if role.is_unrestricted else _open_for(*place, role)


def is_running() -> bool | None:
    """Whether the local workspace runs its jobs; None where tables are those of a catalog."""
    if os.environ.get("MILLRACE_CATALOG"):
        return None
    engine = _state("workspace").get("processes", {}).get("engine", {})
    return engine.get("state") == "running" and _is_alive(engine.get("pid"))


def last_errors() -> dict[str, str]:
    """The last error of each process and job of the local workspace; none for a role that sees less."""
    if not viewer.sees_everything():
        return {}
    states = [_state("workspace").get("processes", {}), _state("engine").get("jobs", {})]
    return {
        name: str(part["last_error"])
        for parts in states
        for name, part in parts.items()
        if isinstance(part, dict) and part.get("last_error")
    }


def startup_message() -> str:
    """A message to show instead of the pages; empty if tables can be read."""
    catalog = os.environ.get("MILLRACE_CATALOG")
    if not catalog or has_warehouse():
        return ""
    return (
        f"The tables are in the catalog {catalog}; nothing says which SQL warehouse they are read through.\n"
        "Set DATABRICKS_WAREHOUSE_ID to its id, which the bundle gives to the app as resource sql-warehouse. "
        "For a server of Spark Connect, set SPARK_REMOTE to its address."
    )


def data_docs() -> str | None:
    """URL of the Data Docs; None if there are none, or for a role that sees less."""
    if not viewer.sees_everything():
        return None
    return os.environ.get("MILLRACE_DATA_DOCS") or reports.address_of(home())


@st.cache_resource(show_spinner=False)
def _open(catalog: str, root: str) -> Lake:
    """One instance for all viewers, so that they share its cache."""
    return Lake(_tables_of(catalog) if catalog else LocalTables(Path(root)))


@st.cache_resource(show_spinner=False, max_entries=_ROLES, hash_funcs={Role: lambda role: role.fingerprint})
def _open_for(catalog: str, root: str, role: Role) -> Lake:
    """One instance for all viewers with a role, over the tables that all share."""
    backend = RestrictedTables(_open(catalog, root).backend, role)
    return Lake(backend, _MOST_BYTES_OF_A_ROLE, hidden=backend.hidden, role=role.name, masks=backend.masks)


def _tables_of(catalog: str) -> Backend:
    from tables.sql_backend import SqlTables

    return SqlTables(sql_warehouse(), catalog)


def _is_alive(pid: int | None) -> bool:
    if not pid:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user: it is there
        return True
    return True


def _state(name: str) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        state = json.loads((home() / "run" / f"{name}.json").read_text(encoding="utf-8"))
        return state if isinstance(state, dict) else {}
    return {}
