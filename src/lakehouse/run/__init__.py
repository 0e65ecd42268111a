"""Jobs: micro-batches, the ledger, rebuilds, the Spark session and the version of the rules."""
