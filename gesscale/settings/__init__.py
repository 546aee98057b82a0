"""Settings: YAML file, environment and options, validated, one group per phase of the loop."""

from gesscale.settings.groups import Settings
from gesscale.settings.loading import load_settings
from gesscale.settings.reference import settings_page

__all__ = ["Settings", "load_settings", "settings_page"]
