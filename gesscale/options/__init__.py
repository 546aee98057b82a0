"""Settings that several policies share; those of one policy are in its folder."""

from gesscale.options.shared import PolicyOptions

__all__ = ["PolicyOptions"]
