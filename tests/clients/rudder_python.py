"""Sends events with rudder-sdk-python. Arguments: URL, write key, file of JSON lines, rate."""

import sys

from replay import replay
from rudderstack.analytics.client import Client

host, key, file, rate = sys.argv[1:]
failed: list[object] = []
client = Client(key, host=host, gzip=True, on_error=lambda error, _items: failed.append(error))
replay(client, file, float(rate))
sys.exit("\n".join(map(str, failed)) or None)
