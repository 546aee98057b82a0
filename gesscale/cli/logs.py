"""How a long-running command logs: a line an event on stderr, for people or as JSON."""

import json
import logging
from datetime import UTC, datetime
from enum import StrEnum


class LogFormat(StrEnum):
    """The form of a line."""

    TEXT = "text"
    JSON = "json"


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def start_logging(form: LogFormat) -> None:
    """Log from level INFO on, each line with its time."""
    handler = logging.StreamHandler()
    if form is LogFormat.JSON:
        handler.setFormatter(_JsonLines())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
