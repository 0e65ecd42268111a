"""Calls a client for each message of a file, at a steady rate."""

import json
import time
from pathlib import Path
from typing import Any


def replay(client: Any, file: str, rate: float) -> None:
    """Send all messages, and wait until the client has delivered them or given up."""
    begin = time.monotonic()
    for number, line in enumerate(Path(file).read_text().splitlines()):
        time.sleep(max(0.0, begin + number / rate - time.monotonic()))
        message = json.loads(line)
        kind = message.pop("type")
        call = {"anonymousId": "anonymous_id", "userId": "user_id"}
        getattr(client, kind)(**{call.get(name, name): value for name, value in message.items()})
    client.flush()
    client.join()
