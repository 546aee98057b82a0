"""The policies of other papers and practices, which the default policy is compared with; each is an entry point.

They run wherever a policy runs: live, on Kubernetes, as advice, in replay and in the arena.
"""
