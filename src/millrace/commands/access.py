"""`millrace access`: the roles of conf/access.yml in a catalog."""

import re
from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings

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
    of conf/access.yml, and after tables or columns were added.
    """
    from lakehouse.access.catalog_views import view_statements
    from lakehouse.access.policy import load_policy
    from lakehouse.contracts import TABLES
    from lakehouse.readers.sql_warehouse import catalog_tables

    settings = load_settings()
    if not settings.catalog:
        raise MillraceError(
            "the tables are in folders, where each command applies roles itself", "Set MILLRACE_CATALOG"
        )
    policy = load_policy(settings.conf, settings.home)
    tables = catalog_tables(settings.catalog)
    existing = tables.sql.existing({table.layer for table in TABLES.values()})
    statements = list(view_statements(policy.roles, settings.catalog, existing))
    for statement in statements:
        if dry_run:
            typer.echo(f"{_KEY.sub('<key>', statement)};")
        else:
            tables.sql.execute(statement)
    if not dry_run:
        typer.echo(f"Applied {len(statements)} statements to {settings.catalog}.")
