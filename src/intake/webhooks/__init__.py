"""Webhooks: signed events that shops and payment providers push."""
