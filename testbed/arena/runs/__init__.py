"""Runs many cases, on this machine or on Spark, and stores their results."""
