"""Checks and repairs of surveys."""
