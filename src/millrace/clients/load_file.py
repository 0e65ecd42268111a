"""Sends a file of real events to Kafka."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from bronze.kafka_auth import client_options
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.clients.formats import Format, open_format, require_format
from millrace.clients.line_reader import Source
from millrace.clients.manifest import Manifest, new_manifest
from millrace.clients.progress import progress_bar
from millrace.clients.record import Record
from millrace.clients.rejected import Rejected
from millrace.clients.send import deliver
from millrace.shutdown_signal import ShutdownSignal, StoppedError


@dataclass(frozen=True)
class Loaded:
    """The result of loading a file."""

    manifest: Manifest
    rejected: Rejected
    seconds: float
    stopped: bool


def load_file(
    settings: Settings,
    file: str,
    format_name: str,
    site: str | None,
    *,
    on_recognized: Callable[[str], None] | None = None,
) -> Loaded:
    """Send each readable line of a file, set aside the other lines, and write a manifest.

    Args:
        settings: the settings in force.
        file: path, or `-` for standard input.
        format_name: a key of `millrace.clients.formats.FORMATS`, or `auto`.
        site: host of an access log's lines that name none; None: inferred from its first lines.
        on_recognized: called with what a file of format `auto` was recognised as, before anything is sent.

    Raises:
        MillraceError: if the file can't be read, the format is not valid, or the broker does not answer.
    """
    require_format(format_name)
    with ShutdownSignal().on_signals() as stop:
        try:
            source = Source(file, stop)
        except StoppedError:
            raise MillraceError("stopped before the first line", "Nothing was sent") from None
        try:
            form = open_format(format_name, source, settings.conf)
            if form.taken_for and on_recognized:
                on_recognized(form.taken_for)
            return _load(settings, source, form, site, stop)
        finally:
            source.close()


def _load(settings: Settings, source: Source, form: Format, site: str | None, stop: ShutdownSignal) -> Loaded:
    reader = form.reader(source.sample, site)
    manifest = new_manifest(settings.home, "load", source.name, settings.events_topic)
    rejected = Rejected(settings.home, manifest.id)
    started = monotonic()

    def refuse(record: Record) -> None:
        rejected.add(record.line, "larger than the topic takes", record.value)

    with progress_bar(f"Loading {source.name}", source.size) as bar:

        def tick() -> None:
            manifest.set_aside = rejected.count
            bar(source.bytes_read, manifest.records)

        try:
            deliver(
                reader(source, rejected),
                manifest,
                settings.bootstrap,
                stop,
                on_tick=tick,
                on_refused=refuse,
                login=client_options(settings),
            )
        finally:
            rejected.close()
    return Loaded(manifest, rejected, monotonic() - started, stop.requested)
