"""Nexmark on PySpark: the events of an auction, queries with and without state, and whether their results are exact."""
