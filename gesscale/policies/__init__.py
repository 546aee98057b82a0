"""Policies: the pure Analyze and Plan of Gesscale and of its rivals, by name."""

from gesscale.policies.registry import policy_named, policy_names

__all__ = ["policy_named", "policy_names"]
