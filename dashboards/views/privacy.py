"""Page Privacy: requests of persons, certificates, share by consent, and how long data is kept."""

from datetime import datetime, timezone
from functools import partial

import polars as pl
import streamlit as st
import viewer
from metrics import privacy, quality
from query_scope import Scope
from tables.table_cache import Look
from widgets import layout, page
from widgets.formatting import plain_text
from widgets.layout import number_column, place_table, share_column, text_column, time_column

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from privacy.erasure.retention import load_retention
from privacy.requests.register import Register

_HEIGHT = 250  # pixels
_NO_REQUESTS = "No requests yet: `millrace privacy open` enters one.".replace("`", "")
_NO_CERTIFICATES = "No certificates yet: `millrace privacy prove` writes one.".replace("`", "")
_NO_ROWS = "No touches and conversions in this period."


def body(look: Look, scope: Scope | None) -> None:
    """Show requests, certificates, share by consent, and how long data is kept."""
    viewer.require_privacy()
    settings = load_settings(home=viewer.home())
    try:
        _requests(settings)
        certificates = privacy.certificates(settings)
        retention = load_retention(settings.conf)
    except MillraceError as error:
        st.error(plain_text(f"{error.problem}. {error.next_step}."), icon=":material/error:")
        return
    _certificates(certificates)
    layout.side_by_side(
        partial(_consent, look, scope), partial(_kept, privacy.kept(settings, retention)), widths=(3, 4)
    )


def _requests(settings: Settings) -> None:
    found, now = Register(settings.home).requests(), datetime.now(timezone.utc)
    number, is_open = layout.locale().number, [each for each in found if each.state in privacy.OPEN]
    layout.metrics(
        {
            "Open requests": (number(len(is_open)), "Not erased, proven or closed yet."),
            "Due within a week": (
                number(sum(each.is_due(now) for each in is_open)),
                "Overdue ones included. millrace status warns of them.",
            ),
            "Erased, not proven": (
                number(sum(each.state == "erased" for each in found)),
                "No search has found nothing yet: millrace privacy prove searches.",
            ),
            "Proven": (
                number(sum(each.state == "proven" for each in found)),
                "A search of everything found nothing of the person.",
            ),
        }
    )
    columns = {
        "request": "Request",
        "reference": text_column("Reference", 170),
        "received_at": time_column("Received (UTC)"),
        "deadline": time_column("Deadline (UTC)"),
        "left": "Left",
        "state": "State",
        "note": text_column("Latest entry", 260),
    }
    rows = privacy.requests(found, now)
    place_table(rows, columns, "requests", _HEIGHT, "Requests of persons", otherwise=_NO_REQUESTS)


def _certificates(rows: pl.DataFrame) -> None:
    columns = {
        "request": "Request",
        "ended_at": time_column("Searched (UTC)"),
        "result": text_column("Result", 260),
        "files": number_column("Files"),
        "valid": text_column("Verifies", meaning="Signed by this home, unchanged, and in its register"),
        "file": text_column("File in privacy/certificates", 260),
    }
    place_table(rows, columns, "certificates", _HEIGHT, "Certificates", otherwise=_NO_CERTIFICATES)


def _consent(look: Look, scope: Scope | None) -> None:
    tables = ("gold.touches", "gold.conversions")
    unseen = frozenset(f"{table}.{name}" for table in tables for name in look.unseen(table))
    rows = pl.DataFrame(schema={"purpose": pl.String, "of": pl.String, "share": pl.Float64})
    if scope is not None:
        rows = look.figure(quality.without_consent, scope, unseen)
    columns = {"purpose": "Purpose", "of": "Of", "with": share_column("With consent")}
    shares = rows.with_columns((1 - pl.col("share")).alias("with"))
    place_table(shares, columns, "consent", _HEIGHT, "Consent in this period", otherwise=_NO_ROWS)


def _kept(rows: pl.DataFrame) -> None:
    columns = {
        "what": text_column("What", 200),
        "span": "How long",
        "by": text_column("Set by", 220),
    }
    place_table(rows, columns, "kept", _HEIGHT, "What is kept how long")


page.show_always(body)
