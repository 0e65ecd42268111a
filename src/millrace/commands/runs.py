"""`millrace runs`: serves MLflow's UI for the runs in this home."""

import os
import sys
from typing import Annotated

import typer

from lakehouse.settings import load_settings


def runs(port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 5000) -> None:
    """Serve MLflow's UI with the runs of `quality` and `attribution-model`, until Ctrl-C."""
    from gold.models.mlflow_client import tracking_uri
    from millrace.local.process.ports import HOST, require_free

    require_free(port, "MLflow", "Choose another with --port {free}")
    settings = load_settings()
    typer.echo(f"http://{HOST}:{port}  Ctrl-C stops it.")
    arguments = [
        "--backend-store-uri",
        tracking_uri(settings),
        "--host",
        HOST,
        "--port",
        str(port),
        "--workers",
        "1",
    ]
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.execv(sys.executable, [sys.executable, "-m", "mlflow", "ui", *arguments])
