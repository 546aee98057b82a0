"""Chaos tests: random placement changes during injected faults, on real Spark, with every row counted."""
