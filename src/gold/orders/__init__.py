"""Orders of events compared with orders of the shop's database."""
