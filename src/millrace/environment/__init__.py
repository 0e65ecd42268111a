"""Checks and sets up this machine: Java, jars, ports."""
