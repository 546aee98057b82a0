"""An input that is found, made smaller as long as it does the same."""

from collections.abc import Callable


def minimised(data: bytes, does_the_same: Callable[[bytes], bool], tries: int) -> bytes:
    """Cut pieces out of an input, the large ones first.

    Parameters
    ----------
    data
        What was found.
    does_the_same
        Whether a smaller input does too.
    tries
        At most so many inputs are tried.

    Returns
    -------
    bytes
        As small as these tries made it.

    Examples
    --------
    >>> minimised(b"aaaaXaaaaaaa", lambda data: b"X" in data, 100)
    b'X'
    """
    size = len(data) // 2
    while size and tries > 0:
        at = 0
        while at < len(data) and tries > 0:
            smaller = data[:at] + data[at + size :]
            tries -= 1
            if does_the_same(smaller):
                data = smaller
            else:
                at += size
        size //= 2
    return data
