"""Webhooks: events that shops and payment providers push, signed."""
