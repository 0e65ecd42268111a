"""Checks that the secrets of sources are in the environment."""

from collections.abc import Mapping

from intake.log.message_log import UnavailableError
from intake.sources import Sources
from intake.webhooks.routes import signing_keys
from lakehouse.errors import MillraceError


def require_secrets(sources: Sources, environment: Mapping[str, str], *, pulls: bool) -> None:
    """Check the secrets of webhooks, and the tokens of streams.

    Args:
        sources: the declared sources.
        environment: the environment variables.
        pulls: whether this node reads streams.

    Raises:
        MillraceError: if a secret is not set, or malformed for its scheme. The message contains no secret.
    """
    for source in sources.declared:
        if source.webhook is not None:
            try:
                signing_keys(source.name, source.webhook, environment)
            except UnavailableError as error:
                raise MillraceError(str(error), "Set it in the environment: docs/webhooks.md") from None
        variable = source.pull.token_env if source.pull is not None else None
        if pulls and variable and not environment.get(variable):
            raise MillraceError(
                f"the token of {source.name} is not set: {variable}",
                "Set it in the environment, or start this node with --no-pull: docs/pull.md",
            )
