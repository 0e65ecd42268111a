"""Benchmarks: each compares designs in one run, on one machine."""
