"""An erasure while a benchmark measures traffic."""

import math
import threading
import time

import polars as pl

from benchmarks.workspace import run_millrace
from lakehouse.settings import Settings
from millrace.tables import table_reader


class Erasure:
    """An erasure of visitors while traffic continues.

    Args:
        settings: of the home.
        people: number of visitors, picked at random of all that are known then.
        delay: seconds until it starts.

    Attributes:
        seconds: what it took; nan until it has ended.
    """

    def __init__(self, settings: Settings, people: int, delay: float) -> None:
        self._settings = settings
        self._people = people
        self.seconds = math.nan
        timer = threading.Timer(delay, self._erase)
        timer.daemon = True
        timer.start()

    def _erase(self) -> None:
        events = table_reader.scan(self._settings, "silver.events")
        assert events is not None
        visitors = events.select("visitor_id").unique().collect()["visitor_id"].sort()
        chosen = visitors.sample(min(self._people, len(visitors)), seed=7)
        file = self._settings.home / "people.csv"
        pl.DataFrame({"kind": ["visitor"] * len(chosen), "value": chosen}).write_csv(file)
        clock = time.monotonic()
        run_millrace("erase", "--file", str(file))
        self.seconds = time.monotonic() - clock
