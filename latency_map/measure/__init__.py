"""Measurement of round trips: probes, agents, and maps of their measurements."""
