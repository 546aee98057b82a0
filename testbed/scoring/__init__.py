"""Scores runs by the paper's seven metrics and others, and computes the frontier of possible costs."""
