"""`millrace rebuild`: recomputes tables from their inputs."""

from typing import Annotated

import typer


def rebuild(
    tables: Annotated[list[str], typer.Argument(help="Tables, as silver.events.", metavar="TABLE…")],
) -> None:
    """Recompute tables from their inputs by the current rules, and replace each in one commit.

    Prints which tables computed from them are stale after that. While `millrace up` runs, its engine does
    it and the jobs keep running; those that write tables of the same layer wait for the rebuild and catch up
    afterwards. Tables of gold are rebuilt once publish has processed what silver has.
    """
    from millrace.commands.release import carry_out
    from millrace.local.requests.engine_commands import REBUILD
    from millrace.operations.rebuild import has_gold

    first = ("refine", "repair", "publish") if has_gold(tables) else ()
    carry_out(REBUILD, *tables, first=first)
