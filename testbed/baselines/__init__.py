"""Baseline policies of other papers and of practice, to compare the default policy with; each is an entry point.

They run wherever a policy runs: live, on Kubernetes, in recommendations, in replay and in the arena.
"""
