"""`millrace access`: the roles of conf/access.yml in a catalog."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings

if TYPE_CHECKING:
    from lakehouse.readers.catalog_sql import CatalogSql

_KEY = re.compile(r"X'[0-9a-f]+'")


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Roles of conf/access.yml in a catalog.", no_args_is_help=True)
    group.command("apply")(apply)
    group.callback()(lambda: None)
    app.add_typer(group, name="access")


def apply(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the SQL, without the key of hashes.")
    ] = False,
) -> None:
    """Make views for roles in the catalog: a schema for each role, granted to the group of its name.

    A view layer_table has the rows and columns of layer.table that the role sees. Run it again after a change
    of conf/access.yml, and after tables or columns were added. The views of a role that is not declared any
    more, or sees everything, are removed.
    """
    from lakehouse.access.catalog_views import (
        ROLE_PROPERTY,
        SCHEMA_START,
        removal_statements,
        stale_schemas,
        view_statements,
    )
    from lakehouse.access.policy import FILE, load_policy
    from lakehouse.contracts import TABLES
    from lakehouse.readers.sql_warehouse import catalog_tables

    settings = load_settings()
    if not settings.catalog:
        raise MillraceError(
            "the tables are in folders, where each command applies roles itself", "Set MILLRACE_CATALOG"
        )
    if not (settings.conf / FILE).is_file():
        raise MillraceError(
            f"there is no {settings.conf / FILE}", "Write it; `roles: {}` removes the views of all roles"
        )
    policy, catalog = load_policy(settings.conf, settings.home), settings.catalog
    sql = catalog_tables(catalog).sql
    stale = stale_schemas(policy.roles, sql.schemas_with(SCHEMA_START, ROLE_PROPERTY))
    for schema, role in stale.items():
        _run(sql, removal_statements(catalog, schema, role, sql.names_in(schema)), dry_run)
        if not dry_run:
            typer.echo(f"Removed the views of {schema}: by {settings.conf / FILE}, role {role} has none.")
    existing = sql.existing({table.layer for table in TABLES.values()})
    statements = list(view_statements(policy.roles, catalog, existing))
    _run(sql, statements, dry_run)
    if not dry_run:
        typer.echo(f"Applied {len(statements)} statements to {catalog}.")


def _run(sql: "CatalogSql", statements: Iterable[str], dry_run: bool) -> None:
    for statement in statements:
        if dry_run:
            typer.echo(f"{_KEY.sub('<key>', statement)};")
        else:
            sql.execute(statement)
