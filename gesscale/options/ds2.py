"""Settings of `ds2`."""

from gesscale.options.sizing import SizingSettings


class Ds2Settings(SizingSettings):
    """DS2."""
