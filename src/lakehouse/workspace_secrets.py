"""Secrets of a Databricks workspace, read by its REST API: an app has no Spark."""

import base64
import os

from lakehouse.errors import MillraceError


def read_secret(scope: str, key: str, next_step: str) -> str:
    """A secret.

    Args:
        scope: the secret scope.
        key: its key in the scope.
        next_step: what to do if it can't be read.

    Raises:
        MillraceError: if this is no workspace, or there is no such secret for this identity.
    """
    if "DATABRICKS_HOST" not in os.environ:
        raise MillraceError(f"the secret scope {scope} can't be read: this is no workspace", next_step)
    from databricks.sdk import WorkspaceClient
    from databricks.sdk.errors.base import DatabricksError

    try:
        found = WorkspaceClient().secrets.get_secret(scope, key).value
    except DatabricksError as error:
        raise MillraceError(f"{key} of the secret scope {scope} can't be read: {error}", next_step) from error
    return base64.b64decode(found or "").decode()
