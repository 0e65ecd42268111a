"""Sends sample traffic to Kafka."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from time import monotonic

from bronze.kafka_auth import client_options
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.clients.manifest import Manifest, new_manifest
from millrace.clients.progress import progress_bar
from millrace.clients.record import Record
from millrace.clients.send import deliver
from millrace.sample_shop.realtime import live_records
from millrace.sample_shop.sample_costs import corrected_costs, daily_costs
from millrace.sample_shop.sample_rates import late_rates, monthly_rates
from millrace.sample_shop.traffic_stream import (
    DEFAULT_SEED,
    DEFAULT_START,
    EVENTS_PER_DAY,
    generate,
    generate_span,
)
from millrace.shutdown_signal import ShutdownSignal

DEFAULT_EVENTS = 200_000
_MONTH = timedelta(days=31)


@dataclass(frozen=True)
class Wanted:
    """Parameters of the traffic.

    Attributes:
        rate: records per second, live, or on average from `start` until `until`; None: simulated days at
            full speed.
        events: number of records; None: without end if live, else `DEFAULT_EVENTS`.
        seed: random seed.
        start: start of the simulated days; None: `DEFAULT_START`.
        until: end of the simulated days, instead of a number of records.
    """

    rate: float | None = None
    events: int | None = None
    seed: int = DEFAULT_SEED
    start: datetime | None = None
    until: datetime | None = None

    @property
    def is_live(self) -> bool:
        """Whether the traffic is live."""
        return self.rate is not None and self.until is None

    def check(self) -> None:
        """Refuse invalid parameters.

        Raises:
            MillraceError: for numbers out of range, or parameters that exclude each other.
        """
        if self.rate is not None and not 0 < self.rate < float("inf"):
            raise MillraceError(f"a rate of {self.rate} records a second can't be kept", "Give one above 0")
        if self.events is not None and self.events < 1:
            raise MillraceError(f"{self.events} events are none", "Give --events 1 or more")
        if self.until is not None:
            if self.rate is None or self.start is None or self.events is not None:
                raise MillraceError(
                    "--until ends traffic of the past", "Give --start and --rate with it, and no --events"
                )
            if _as_utc(self.until) <= _as_utc(self.start):
                raise MillraceError("--until is not after --start", "Give a later time")
        elif self.rate is not None and self.start is not None:
            raise MillraceError(
                "live traffic starts now, at no other time", "Leave out --rate or --start, or give --until"
            )

    def describe(self) -> str:
        """The parameters as text, for the manifest."""
        if self.is_live:
            return f"live traffic, seed {self.seed}, {self.rate:g} records/s"
        begin = f"simulated traffic, seed {self.seed}, from {(self.start or DEFAULT_START).isoformat()}"
        return f"{begin} until {self.until.isoformat()}, {self.rate:g} records/s" if self.until else begin

    def records(self, stop: ShutdownSignal) -> Iterator[Record]:
        """The records."""
        if self.rate is not None and self.start is not None and self.until is not None:
            return generate_span(self.seed, self.rate, self.start, self.until)
        if self.rate is not None:
            return live_records(self.seed, self.rate, self.events, stop)
        return generate(self.seed, self.events or DEFAULT_EVENTS, self.start or DEFAULT_START)

    def rates(self, reporting: str) -> Iterator[Record]:
        """The exchange rates to send before the events."""
        first = self._first
        days = timedelta(days=2 * (self.events or DEFAULT_EVENTS) / EVENTS_PER_DAY)
        return monthly_rates(self.seed, reporting, first, first + (days if self.rate is None else _MONTH))

    def late_rates(self, reporting: str) -> Iterator[Record]:
        """The exchange rates to send after the events; none for live traffic, which may have no end."""
        return iter(()) if self.is_live else late_rates(self.seed, reporting, self._first)

    def costs(self) -> Iterator[Record]:
        """The costs of campaigns to send before the events."""
        first, days = self._first, timedelta(days=(self.events or DEFAULT_EVENTS) / EVENTS_PER_DAY)
        last = first + days if self.rate is None else _as_utc(self.until) if self.until else first
        return daily_costs(self.seed, first, last)

    def corrected_costs(self) -> Iterator[Record]:
        """The costs to send again after the events; none for live traffic."""
        return iter(()) if self.is_live else corrected_costs(self.seed, self._first)

    @property
    def _first(self) -> datetime:
        start = datetime.now(timezone.utc) if self.is_live else self.start or DEFAULT_START
        return _as_utc(start)


def produce(settings: Settings, wanted: Wanted) -> tuple[Manifest, float]:
    """Send sample traffic, its exchange rates and its costs, until it ends or the user stops it.

    Rates and costs have their own topics and their own manifests.

    Returns:
        The closed manifest of the events, and the seconds that sending them took.

    Raises:
        MillraceError: if parameters are not valid, or the broker does not answer or goes away.
    """
    wanted.check()
    with ShutdownSignal().on_signals() as stop:
        rates, costs = settings.exchange_rates_topic, settings.campaign_costs_topic
        before = wanted.rates(settings.reporting_currency)
        _send_side_input(settings, wanted, "rates", "exchange rates", rates, before, stop)
        _send_side_input(settings, wanted, "costs", "costs", costs, wanted.costs(), stop)
        manifest, seconds = _send_events(settings, wanted, stop)
        late = wanted.late_rates(settings.reporting_currency)
        _send_side_input(settings, wanted, "rates", "late exchange rates", rates, late, stop)
        _send_side_input(settings, wanted, "costs", "corrected costs", costs, wanted.corrected_costs(), stop)
    return manifest, seconds


def _as_utc(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _send_events(settings: Settings, wanted: Wanted, stop: ShutdownSignal) -> tuple[Manifest, float]:
    total = wanted.events if wanted.rate is not None else wanted.events or DEFAULT_EVENTS
    is_endless = wanted.is_live and wanted.events is None
    manifest = new_manifest(settings.home, "produce", wanted.describe(), settings.events_topic)
    started = monotonic()
    with progress_bar("Sending sample traffic", total) as bar:
        deliver(
            wanted.records(stop),
            manifest,
            settings.bootstrap,
            stop,
            endless=is_endless,
            on_tick=lambda: bar(manifest.records, manifest.records),
            login=client_options(settings),
        )
    return manifest, monotonic() - started


def _send_side_input(
    settings: Settings,
    wanted: Wanted,
    command: str,
    what: str,
    topic: str,
    records: Iterable[Record],
    stop: ShutdownSignal,
) -> None:
    """Send the few records of another topic, with a manifest named after `command`."""
    found = list(records)
    if found and not stop.requested:
        manifest = new_manifest(settings.home, command, f"{what} for {wanted.describe()}", topic)
        deliver(found, manifest, settings.bootstrap, stop, login=client_options(settings))
