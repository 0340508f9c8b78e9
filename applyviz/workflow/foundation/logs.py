"""Unexpected errors in the log: their type and where, never their text, which may quote a manifest."""

from __future__ import annotations

import logging
import traceback


def log_unexpected(logger: logging.Logger, what: str, error: BaseException) -> None:
    """Write down an error that nobody planned for."""
    places = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s: %s\n%s", what, type(error).__name__, places)
