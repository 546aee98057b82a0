"""How many examples a property is tried with."""

from hypothesis import settings


def examples(thorough: int, few: int | None = None) -> int:
    """Return what `make test` tries; the profile `check`, that of `make check`, has fewer and sets the limit there.

    Properties that take the profile's number do not need this. Where an example takes long, `few` says how many the
    profile `check` has.
    """
    if settings.get_current_profile_name() != "check":
        return thorough
    return min(thorough, few or settings().max_examples)
