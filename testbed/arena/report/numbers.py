"""Numbers as people write them."""

import math

MINUS = "−"
NOTHING = "–"


def figure(value: float | None) -> str:
    """Write a number with three digits that count and thousands apart; a dash where there is none.

    Examples
    --------
    >>> [figure(value) for value in (1199.5, 51.11, 0.163, 25.0, -0.5, 0, None)]
    ['1,200', '51.1', '0.163', '25', '−0.5', '0', '–']
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    decimals = min(4, max(0, 2 - math.floor(math.log10(abs(value)))))
    text = f"{abs(value):,.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{MINUS}{text}" if value < 0 and text != "0" else text


def as_given(value: float) -> str:
    """Write a number of the reference as it was published: ``1,199.5``."""
    return f"{value:,.6g}".replace("-", MINUS)


def span(low: float | None, high: float | None) -> str:
    """Write an interval, ``[0.8, 1.2]``; nothing where it is unknown."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{figure(low)}, {figure(high)}]"


def short(value: float, _position: object = None) -> str:
    """Write the number of an axis: ``12k``, ``1.5M``.

    Examples
    --------
    >>> [short(value) for value in (0, 250, 1500, 12000, 2_500_000, -3)]
    ['0', '250', '1.5k', '12k', '2.5M', '−3']
    """
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{letter}".replace("-", MINUS)
    return f"{value:.3g}".replace("-", MINUS)


def counted(number: int, noun: str) -> str:
    """Write a number and its noun: ``1 run``, ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
