"""Unexpected errors in the log: their type and location, never their text, which may quote a manifest."""

from __future__ import annotations

import logging
import traceback


def log_unexpected(logger: logging.Logger, what: str, error: BaseException) -> None:
    """Log an unexpected error."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s: %s\n%s", what, type(error).__name__, frames)
