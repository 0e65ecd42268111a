"""The view of `millrace demo`: arriving events, and the resulting rows."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from millrace.local.status.poll import INGESTED, StatusPoller
from millrace.local.status.render import last_errors, readable

_SHOWN = {
    "records received": INGESTED,
    "events": "silver.events",
    "copies set aside": "silver.duplicate_events",
    "records rejected": "silver.rejected_events",
    "sessions": "silver.sessions",
    "conversions and refunds": "gold.conversions",
    "attributed touches": "gold.attribution",
}


def draw(listener: StatusPoller) -> RenderableType:
    """The view of the latest snapshot, which must exist."""
    snapshot = listener.latest
    if snapshot is None:
        return Text("…")
    table = Table.grid(padding=(0, 3))
    table.add_column()
    table.add_column(justify="right")
    table.add_row("arriving", f"{listener.rate:,.0f} /s")
    for label, name in _SHOWN.items():
        table.add_row(label, f"{snapshot.rows.get(name, 0):,}")
    table.add_row("complete up to", readable(snapshot.watermark))
    errors = [Text(f"{name}: {error}", style="red") for name, error in last_errors(snapshot).items()]
    page = Text.assemble("\nSee it at ", (str(snapshot.dashboard), "bold"), "; Ctrl-C stops everything.")
    shop = (
        [Text.assemble("Add your own visits at ", (f"{snapshot.collector}/shop", "bold"))]
        if snapshot.collector
        else []
    )
    live = (
        [Text.assemble("Watch today's figures as they change at ", (f"{snapshot.api}/live", "bold"))]
        if snapshot.api
        else []
    )
    return Group(Text(), table, *errors, page, *live, *shop)
