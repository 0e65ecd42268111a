"""Record classes."""

EVENT, DUPLICATE, REJECTED, HEARTBEAT = "event", "duplicate", "rejected", "heartbeat"
RATE = "rate"
CLASSES = (EVENT, DUPLICATE, REJECTED, HEARTBEAT, RATE)
