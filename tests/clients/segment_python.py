"""Sends events with segment-analytics-python. Arguments: URL, write key, file of JSON lines, rate."""

import sys

from replay import replay
from segment.analytics.client import Client

host, key, file, rate = sys.argv[1:]
failed: list[object] = []
client = Client(key, host=host, on_error=lambda error, _items: failed.append(error))
replay(client, file, float(rate))
sys.exit("\n".join(map(str, failed)) or None)
