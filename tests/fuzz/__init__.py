"""Fuzzing of every parser with hypothesis: `targets` has the parsers and their samples, `mutants` modifies the samples.

`found/` has the inputs that once revealed a fault, by target; `tests/property/test_parsers.py` runs them all.
"""
