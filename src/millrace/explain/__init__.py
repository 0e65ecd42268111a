"""Explanations: why a conversion, a credit or a channel is as the tables have it."""
