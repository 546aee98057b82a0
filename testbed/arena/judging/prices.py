"""What late minutes are worth, and how they are counted."""

from enum import StrEnum

PRICES = (1.0, 10.0, 100.0)
"""The default price of a late minute, replica-minutes."""


class Account(StrEnum):
    """What a bill takes for late minutes."""

    MINUTES = "minutes"
    GROWING = "growing"
