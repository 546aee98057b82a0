"""Settings of `daedalus`."""

from gesscale.options.sizing import SizingSettings


class DaedalusSettings(SizingSettings):
    """Daedalus."""
