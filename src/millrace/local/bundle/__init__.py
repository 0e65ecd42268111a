"""The bundle's jobs, as files define them."""
