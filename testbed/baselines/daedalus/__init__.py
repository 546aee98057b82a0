"""Daedalus: its settings, what it computes, what it remembers, and the policy they make up."""
