"""Policies: the pure Analyze and Plan of Gesscale and of its rivals, by name."""

from gesscale.policies.guarded import GuardedPolicy
from gesscale.policies.registry import PolicyInfo, policy_info, policy_named, policy_names

__all__ = ["GuardedPolicy", "PolicyInfo", "policy_info", "policy_named", "policy_names"]
