"""Settings of `rules`."""

from gesscale.fields import Group


class RulesSettings(Group):
    """The rules of SEEP."""
