"""Settings of `autrascale`."""

from gesscale.options.sizing import SizingSettings


class AutrascaleSettings(SizingSettings):
    """AuTraScale+."""
