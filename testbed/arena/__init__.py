"""Policies against each other: the same loads and nodes, many seeds, intervals, a report."""
