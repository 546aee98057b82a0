"""Candidates that lost: the first of each reason with a sentence, the others counted, as a fleet has many."""

from collections.abc import Callable, Sequence

from gesscale.model.decision import Reason, Rejection

MOST_LISTED = 10
"""So many candidates of each reason are listed with their own figures."""


def rejected(
    nodes: Sequence[str],
    reason: Reason,
    detail: Callable[[str], str] = lambda _node: "",
    *,
    names_others: bool = False,
) -> tuple[Rejection, ...]:
    """Return the candidates that lost for one reason.

    Parameters
    ----------
    nodes
        The candidates, the most telling first.
    reason
        Why they lost.
    detail
        Makes the sentence about a node; it is asked only for those that are listed.
    names_others
        Whether the others are named, and not only counted.

    Returns
    -------
    tuple of Rejection
        The first `MOST_LISTED`; the last of them stands for the others as well.

    Examples
    --------
    >>> near, *_, last = rejected([f"edge{rank}" for rank in range(100)], Reason.FARTHER)
    >>> near.node, last.node, last.others
    ('edge0', 'edge9', 90)
    """
    listed, others = nodes[:MOST_LISTED], nodes[MOST_LISTED:]
    found = [Rejection(node=node, reason=reason, detail=detail(node)) for node in listed[:-1]]
    found += [
        Rejection(
            node=node,
            reason=reason,
            detail=detail(node),
            others=len(others),
            other_nodes=tuple(others) if names_others else (),
        )
        for node in listed[-1:]
    ]
    return tuple(found)
