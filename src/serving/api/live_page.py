"""The live page: one file without a build step, which follows a standing query."""

from html import escape
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_CURRENCY = '<meta name="currency" content="{}">'
_ZONE = '<meta name="time-zone" content="{}">'
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
}


def live_route(currency: str, zone: str) -> Route:
    """`GET /live`.

    Args:
        currency: reporting currency (ISO 4217).
        zone: time zone of the days (IANA).
    """
    text = live_page(currency, zone)

    async def answer(request: Request) -> Response:
        """The live page: figures of today as they change."""
        del request
        return Response(text, media_type="text/html", headers=_HEADERS)

    return Route("/live", answer)


def live_page(currency: str, zone: str) -> str:
    """The page's HTML: in a checkout from `docs/`, else from the wheel."""
    checkout = Path(__file__).resolve().parents[3] / "docs" / "live.html"
    file = checkout if checkout.is_file() else Path(__file__).with_name("live.html")
    text = file.read_text(encoding="utf-8")
    text = text.replace(_CURRENCY.format("EUR"), _CURRENCY.format(escape(currency)))
    return text.replace(_ZONE.format("UTC"), _ZONE.format(escape(zone)))
