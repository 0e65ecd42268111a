"""Polls a condition until a deadline."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def eventually(look: Callable[[], Value], seconds: float = 20.0, what: str = "") -> Value:
    """Call `look` repeatedly, and return its first true value.

    Raises:
        AssertionError: if there is none before the deadline.
    """
    until = time.monotonic() + seconds
    while True:
        value = look()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds:g} s: {what or look}")
        time.sleep(0.05)


async def eventually_async(look: Callable[[], Value], seconds: float = 20.0, what: str = "") -> Value:
    """Like `eventually`, in an event loop."""
    until = time.monotonic() + seconds
    while not (value := look()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds:g} s: {what or look}")
        await asyncio.sleep(0.02)
    return value
