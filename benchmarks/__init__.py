"""Benchmarks of the claims in docs/. They end on SIGTERM as on Ctrl-C, and stop what they have started."""

import signal

signal.signal(signal.SIGTERM, signal.default_int_handler)
