"""Baseline policies from other papers and from practice, to compare with the default policy; each is an entry point.

They run wherever a policy runs: live, on Kubernetes, in recommendations, in replay and in the arena.
"""
