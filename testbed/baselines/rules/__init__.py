"""Scaling rules after SEEP: metrics beyond thresholds for a time, and the policy that follows them.

The model of M. Rouaux (Framework for Dynamic Scaling in Master-Slave Stream Processing Systems, Imperial College
London, 2014). docs/reference/policies/rules.md is its guide.
"""
