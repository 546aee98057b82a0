"""Every parser against hypothesis: `targets` say what is called with which samples, `mutants` changes the samples.

`found/` holds inputs that once showed a fault, by target; `tests/property/test_parsers.py` plays all.
"""
