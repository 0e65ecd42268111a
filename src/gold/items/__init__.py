"""Conversions with what the shop's database says of their customers and products, as of their time."""
