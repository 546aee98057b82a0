"""Policies by name, those with perfect foresight, and the guard around every policy."""
