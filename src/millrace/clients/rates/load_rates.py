"""Sends a file of exchange rates to Kafka."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from bronze.kafka_auth import client_options
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from lakehouse.timestamps import rfc3339
from millrace.clients.manifest import Manifest, new_manifest
from millrace.clients.rates.rate_file import RateFile, read_rate_file
from millrace.clients.record import Record
from millrace.clients.send import deliver
from millrace.clients.whole_file import read_whole
from millrace.shutdown_signal import ShutdownSignal


@dataclass(frozen=True)
class LoadedRates:
    """The result of loading a file of exchange rates."""

    file: RateFile
    manifest: Manifest


def check_rates(settings: Settings, file: str) -> RateFile:
    """Read a file of exchange rates and send nothing.

    Args:
        settings: the settings in force.
        file: path, or `-` for standard input.

    Raises:
        MillraceError: if it can't be read.
    """
    with ShutdownSignal().on_signals() as stop:
        return _read(settings, file, stop)


def load_rates(settings: Settings, file: str) -> LoadedRates:
    """Send each rate of a file, and write a manifest.

    Raises:
        MillraceError: if the file can't be read, or the broker does not answer.
    """
    with ShutdownSignal().on_signals() as stop:
        read = _read(settings, file, stop)
        name = "standard input" if file == "-" else file
        manifest = new_manifest(settings.home, "load", name, settings.exchange_rates_topic)
        deliver(_records(read), manifest, settings.bootstrap, stop, login=client_options(settings))
        if stop.requested:
            raise MillraceError(
                f"stopped with {manifest.records:,} of {len(read.rates):,} rates confirmed",
                "Load the file again: a rate that arrives twice counts once",
            )
    return LoadedRates(read, manifest)


def _read(settings: Settings, file: str, stop: ShutdownSignal) -> RateFile:
    name, lines = read_whole(file, stop)
    return read_rate_file(lines, name, settings.reporting_currency, ZoneInfo(settings.business_time_zone))


def _records(file: RateFile) -> Iterator[Record]:
    for each in file.rates:
        value = {"currency": each.currency, "rate": str(each.rate), "valid_from": rfc3339(each.valid_from)}
        yield Record(each.currency.encode(), json.dumps(value, separators=(",", ":")).encode(), each.line)
