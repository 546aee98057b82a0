"""Experiments as files and as validated values."""
