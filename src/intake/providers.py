"""Settings of sources that do not use Segment's API: webhooks, and streams that are pulled."""

import re
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from intake.webhooks.signatures import Scheme

Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")]
_HEADER = re.compile(r"[A-Za-z0-9-]+")


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Webhook(_Settings):
    """Settings of the signatures of a source's webhooks.

    Args:
        signature: the scheme.
        secret_env: environment variable with the secret; two while the secret is replaced.
        header: name of the signature's header, for `hmac_sha256`.
        tolerance: maximum difference between a signature's timestamp and now.
    """

    signature: Scheme
    secret_env: tuple[Variable, ...] = Field(min_length=1)
    header: str | None = None
    tolerance: timedelta = Field(default=timedelta(minutes=5), gt=timedelta(0))

    @field_validator("secret_env", mode="before")
    @classmethod
    def _several(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _has_header(self) -> "Webhook":
        if (self.header is not None) != (self.signature is Scheme.HMAC_SHA256):
            raise ValueError("hmac_sha256 needs a header, and no other scheme does")
        if self.header is not None and not _HEADER.fullmatch(self.header):
            raise ValueError("header is no name of a header")
        return self


class Pull(_Settings):
    """A stream that the collector connects to.

    Args:
        url: http or https for server-sent events, ws or wss for a WebSocket.
        token_env: environment variable with the token of `Authorization: Bearer`.
        resume_parameter: query parameter of a WebSocket for the last id; None: no id is sent.
    """

    url: str
    token_env: Variable | None = None
    resume_parameter: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _is_possible(self) -> "Pull":
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise ValueError("url is none of http, https, ws and wss")
        if parts.username or parts.password:
            raise ValueError("url has a login: give the token by token_env")
        if self.resume_parameter is not None and not self.is_websocket:
            raise ValueError("server-sent events resume by Last-Event-ID: leave resume_parameter out")
        return self

    @property
    def is_websocket(self) -> bool:
        """Whether the stream is a WebSocket."""
        return urlsplit(self.url).scheme in ("ws", "wss")
