"""Assertions on the texts of decisions: their figures, never their words."""

import re


def figures(text: str) -> list[float]:
    """Return the numbers in a text, in order; digits that are part of a name do not count."""
    return [float(number.replace(",", "")) for number in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w,])", text)]
