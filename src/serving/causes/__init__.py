"""What caused a change of a table: events, the watermark, exchange rates, bots or rules."""
