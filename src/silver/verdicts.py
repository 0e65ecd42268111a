"""What becomes of each record."""

EVENT, DUPLICATE, REJECTED, HEARTBEAT = "event", "duplicate", "rejected", "heartbeat"
RATE = "rate"
VERDICTS = (EVENT, DUPLICATE, REJECTED, HEARTBEAT, RATE)
