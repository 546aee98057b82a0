"""Settings of `dhalion`."""

from gesscale.options.sizing import SizingSettings


class DhalionSettings(SizingSettings):
    """Dhalion."""
