"""What policies can be told: values only, one group for each policy that has settings of its own."""

from gesscale.options.shared import PolicyOptions

__all__ = ["PolicyOptions"]
