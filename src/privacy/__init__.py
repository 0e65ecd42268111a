"""Requests of persons about their data: export, search, a register and signed certificates."""
