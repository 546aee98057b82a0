"""Builds the world of a case (nodes, delays, engine and load) from an experiment and a seed."""
