"""How far the search for nodes goes."""

from enum import StrEnum


class Method(StrEnum):
    """How far the search goes."""

    EXACT = "exact"
    GREEDY = "greedy"
    AUTO = "auto"
