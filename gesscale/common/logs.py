"""Log lines for problems: a code, key=value pairs and the sentence of the catalogue."""

import logging
from typing import Any

from gesscale.common.errors import Problem


def log_problem(logger: logging.Logger, level: int, code: str, /, *, exc_info: Any = None, **fields: Any) -> None:
    """Log one problem of the catalogue, such as ``code=metrics-timeout operator=taxi timeout_s=5 message="..."``."""
    if logger.isEnabledFor(level):
        logger.log(level, "%s", Problem(code, fields).log_line(), exc_info=exc_info)
