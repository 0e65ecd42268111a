"""Record classes. A promise of a producer has the class of heartbeats."""

EVENT, DUPLICATE, REJECTED, HEARTBEAT = "event", "duplicate", "rejected", "heartbeat"
RATE, COST = "rate", "cost"
ERASED = "erased"
CLASSES = (EVENT, DUPLICATE, REJECTED, HEARTBEAT, RATE, COST, ERASED)
