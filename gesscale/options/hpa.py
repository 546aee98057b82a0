"""Settings of `hpa-cpu` and `hpa-varga`."""

from gesscale.options.sizing import SizingSettings


class HpaCpuSettings(SizingSettings):
    """HPA on CPU."""


class HpaVargaSettings(SizingSettings):
    """HPA on utilisation and relative lag change."""
