"""How operators that feed the same one share the room before it."""

from collections.abc import Iterable


def fair_share(room: float, claims: Iterable[float]) -> float:
    """Return the share of a room for one operator. Each other operator gets an equal share, or less if it claims less.

    Parameters
    ----------
    room
        How much there is, >= 0.
    claims
        What each of the others could fill.

    Returns
    -------
    float
        Its max-min fair share: what others leave of theirs is shared among the rest.

    Examples
    --------
    >>> fair_share(12, []), fair_share(12, [100]), fair_share(12, [1]), fair_share(12, [1, 100])
    (12, 6.0, 11, 5.5)
    """
    others = sorted(claims)
    for sharing, claim in zip(range(len(others) + 1, 1, -1), others, strict=True):
        room -= min(claim, room / sharing)
    return room
