"""Repeated warnings: one line at the first, the tenth, the hundredth time, and a count of each code."""

import logging
import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

from gesscale.common.logs import log_problem

#: Fields that identify what a warning is about; all others are figures, which may differ each time.
_IDENTIFYING = (
    "workflow",
    "operator",
    "query",
    "source",
    "topics",
    "label",
    "order",
    "pod",
    "autoscaler",
    "figure",
    "key",
)
#: Warnings that are counted separately; further ones are counted by their code alone.
_MAX_KEYS = 1000


class CountedWarnings:
    """Counts the warnings of one logger by code and identifying fields; thread-safe.

    Examples
    --------
    >>> warnings = CountedWarnings(logging.getLogger("example"))
    >>> [warnings.warn("source-offset-missing", source=name) for name in ("a", "b", "a")]
    [1, 1, 2]
    >>> warnings.by_code()
    {'source-offset-missing': 3}
    """

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._by_code: Counter[str] = Counter()
        self._lock = threading.Lock()

    def warn(self, code: str, /, **fields: Any) -> int:
        """Count a warning, and log it if its count is a power of ten; return the count."""
        key = (code, *(f"{name}={fields[name]}" for name in _IDENTIFYING if name in fields))
        with self._lock:
            self._by_code[code] += 1
            if key not in self._counts and len(self._counts) >= _MAX_KEYS:
                key = (code,)
            self._counts[key] += 1
            count = self._counts[key]
        if str(count).rstrip("0") == "1":
            log_problem(self._logger, logging.WARNING, code, **fields, **({"times": count} if count > 1 else {}))
        return count

    def by_code(self) -> Mapping[str, int]:
        """Return how often each code occurred."""
        with self._lock:
            return dict(self._by_code)
