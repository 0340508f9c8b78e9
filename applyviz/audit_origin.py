"""From where the present work is done: kind of session, address, shortened user agent; on every audit entry."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass

WEB, TOKEN, WORKER, COMMAND = "web", "token", "worker", "command"
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Origin:
    """Where somebody acted from; a command on the machine itself has neither address nor agent."""

    session: str = COMMAND
    address: str = ""
    agent: str = ""


current: ContextVar[Origin] = ContextVar("origin", default=Origin())  # noqa: B039 - it is frozen


def shorten_agent(text: str) -> str:
    """Return a user agent as a person reads it: products and versions, without the remarks in brackets; one line."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    without = re.sub(r"\([^()]*\)", " ", printable)
    return " ".join(without.split())[:_LONGEST]
