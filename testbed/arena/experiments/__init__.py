"""Experiments: what is played and varied, as files and as checked values."""
