"""Policies: the pure Analyze and Plan of Gesscale and of its rivals, by name."""

from gesscale.policies.guarded import GuardedPolicy
from gesscale.policies.registry import PolicyCard, policy_card, policy_named, policy_names

__all__ = ["GuardedPolicy", "PolicyCard", "policy_card", "policy_named", "policy_names"]
