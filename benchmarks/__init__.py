"""Benchmarks, each of which compares designs in one run on one machine."""
