"""AuTraScale+: its steps, what it remembers, and the policy they make up."""

from gesscale.policies.autrascale.policy import AutrascalePolicy

__all__ = ["AutrascalePolicy"]
