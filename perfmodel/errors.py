"""The error of this package."""


class ModelError(ValueError):
    """A reading, a condition or a set of readings that no performance model can be built on."""
