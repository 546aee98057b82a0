"""Evaluates results: confidence intervals, summaries, comparisons with a baseline, and the league."""
