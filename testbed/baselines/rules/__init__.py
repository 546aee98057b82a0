"""Scaling rules after SEEP: conditions on metrics that hold for a time, and the policy that applies them.

The model follows M. Rouaux (Framework for Dynamic Scaling in Master-Slave Stream Processing Systems, Imperial College
London, 2014). The guide is docs/reference/policies/rules.md.
"""
