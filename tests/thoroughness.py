"""How many examples a property is tried with."""

from hypothesis import settings


def examples(thorough: int) -> int:
    """Return what `make test` tries; the profile `check`, that of `make check`, has fewer and sets the limit there.

    Properties that take the profile's number do not need this.
    """
    few = settings.get_current_profile_name() == "check"
    return min(thorough, settings().max_examples) if few else thorough
