"""What jobs know of erased records and identities: keyed hashes and coordinates."""
