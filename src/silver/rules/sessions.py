"""The session rule: what belongs together, and when it is over."""

from datetime import timedelta

TYPES = ("page", "screen", "track")
PAGE_VIEWS = ("page", "screen")
GAP = timedelta(minutes=30)  # this long or longer after the event before, a new session starts
GAP_MICROS = GAP // timedelta(microseconds=1)
