"""Routes of the files for browsers."""

from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_FOLDER = Path(__file__).parent


class _File:
    """Answers with a file, or 304 if the browser has cached it."""

    def __init__(self, name: str, media_type: str) -> None:
        self._content = (_FOLDER / name).read_bytes()
        self._media_type = media_type
        self._headers = {
            "Cache-Control": "public, max-age=3600",
            "ETag": f'"{sha256(self._content).hexdigest()[:32]}"',
            "Access-Control-Allow-Origin": "*",
        }

    async def answer(self, request: Request) -> Response:
        known = [
            tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")
        ]
        if self._headers["ETag"] in known or "*" in known:
            return Response(status_code=304, headers=self._headers)
        return Response(self._content, media_type=self._media_type, headers=self._headers)


def browser_routes(shop: bool) -> list[Route]:
    """`GET /millrace.js`, the tracker, and `GET /shop`.

    Args:
        shop: whether to serve the demo shop, which uses the write key `demo`: only while no sources are
            declared, so that only this machine may send.
    """
    routes = [Route("/millrace.js", _File("millrace.js", "text/javascript").answer, methods=["GET"])]
    if shop:
        routes.append(Route("/shop", _File("shop.html", "text/html").answer, methods=["GET"]))
    return routes
