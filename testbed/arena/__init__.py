"""Compares policies on the same simulated loads and nodes over many seeds."""
