"""What several policies are told; what only one is told stands beside that policy."""

from gesscale.options.shared import PolicyOptions

__all__ = ["PolicyOptions"]
