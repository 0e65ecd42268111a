"""Finds the causes of row changes: events, the watermark, exchange rates, bots or rules."""
