"""Log lines as key=value pairs: of problems, with code and sentence of the catalogue, and of events."""

import logging
from typing import Any

from gesscale.common.errors import Problem, pairs_of


def log_problem(logger: logging.Logger, level: int, code: str, /, *, exc_info: Any = None, **fields: Any) -> None:
    """Log one problem of the catalogue, such as ``code=metrics-timeout operator=taxi timeout_s=5 message="..."``."""
    if logger.isEnabledFor(level):
        problem = Problem(code, fields)
        logger.log(level, "%s", problem.log_line(), exc_info=exc_info, extra={"problem": problem})


def log_event(logger: logging.Logger, event: str, /, **fields: Any) -> None:
    """Log what happened, such as ``event=order operator=streams/taxi id=3-1 reason=Overloaded``."""
    logger.info("%s", pairs_of({"event": event, **fields}))
