"""Delays made on purpose: the tc commands that give real links the round trips of a map."""
