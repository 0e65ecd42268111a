"""The register of requests."""
