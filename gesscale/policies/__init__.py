"""Policies: the pure Analyze and Plan of Gesscale and of its rivals, by name."""

from gesscale.policies.registry import policy_named, policy_names
from gesscale.policies.rules import PolicyRules

__all__ = ["PolicyRules", "policy_named", "policy_names"]
