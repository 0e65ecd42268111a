"""Descriptions of the streaming API for machines: OpenAPI and AsyncAPI."""
