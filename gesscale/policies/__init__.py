"""Policies, by name: the pure Analyze and Plan phases."""

from gesscale.policies.guarded import GuardedPolicy
from gesscale.policies.registry import PolicyInfo, policy_info, policy_named, policy_names

__all__ = ["GuardedPolicy", "PolicyInfo", "policy_info", "policy_named", "policy_names"]
