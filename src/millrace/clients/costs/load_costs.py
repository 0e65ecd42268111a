"""Sends a cost file to Kafka."""

from dataclasses import dataclass
from datetime import datetime, timezone

from bronze.kafka_auth import client_options
from folds.costs.cost_rules import load_cost_rules
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.clients.costs.cost_file import CostFile, read_cost_file
from millrace.clients.costs.cost_messages import cost_records
from millrace.clients.manifest import Manifest, new_manifest
from millrace.clients.send import deliver
from millrace.clients.whole_file import read_whole
from millrace.shutdown_signal import ShutdownSignal


@dataclass(frozen=True)
class LoadedCosts:
    """The result of loading a cost file."""

    file: CostFile
    manifest: Manifest


def open_costs(settings: Settings, file: str, account: str | None, stop: ShutdownSignal) -> CostFile:
    """Read a cost file whole.

    Args:
        settings: the settings in force.
        file: path, or `-` for standard input.
        account: of rows that name none; None: the platform's default.
        stop: interrupts the wait for standard input.

    Raises:
        MillraceError: if it can't be read.
    """
    name, lines = read_whole(file, stop)
    return read_cost_file(lines, load_cost_rules(settings.conf), name, account)


def check_costs(settings: Settings, file: str, account: str | None) -> CostFile:
    """Read a cost file and send nothing."""
    with ShutdownSignal().on_signals() as stop:
        return open_costs(settings, file, account, stop)


def load_costs(settings: Settings, file: str, account: str | None) -> LoadedCosts:
    """Send each row of a cost file, and write a manifest.

    Raises:
        MillraceError: if the file can't be read, or the broker does not answer.
    """
    with ShutdownSignal().on_signals() as stop:
        read = open_costs(settings, file, account, stop)
        name = "standard input" if file == "-" else file
        manifest = new_manifest(settings.home, "load", name, settings.campaign_costs_topic)
        records = cost_records(read, datetime.now(timezone.utc))
        deliver(records, manifest, settings.bootstrap, stop, login=client_options(settings))
        if stop.requested:
            raise MillraceError(
                f"stopped with {manifest.records:,} of {len(read.rows):,} rows confirmed",
                "Load the file again: until all rows of a day are there, its earlier costs count",
            )
    return LoadedCosts(read, manifest)
