"""The id of the current request (or task), for every log line and audit entry."""

from __future__ import annotations

import logging
from contextvars import ContextVar

current: ContextVar[str] = ContextVar("request_id", default="-")


class RequestIdFilter(logging.Filter):
    """Adds the request id to every log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the id; keep the record."""
        record.request_id = current.get()
        return True
