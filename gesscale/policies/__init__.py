"""Policies: the pure Analyze and Plan of Gesscale and of its rivals, by name."""

from gesscale.policies.registry import PolicyRules, policy_named, policy_names

__all__ = ["PolicyRules", "policy_named", "policy_names"]
