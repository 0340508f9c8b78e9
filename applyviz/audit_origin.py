"""The origin of the current work for every audit entry: kind of session, address, shortened user agent."""

from __future__ import annotations

import re
from contextvars import ContextVar

from msgspec import Struct

WEB, TOKEN, WORKER, COMMAND = "web", "token", "worker", "command"
_LONGEST = 120


class Origin(Struct, frozen=True):
    """The origin of an action; a command on the machine itself has neither address nor agent."""

    session: str = COMMAND
    address: str = ""
    agent: str = ""


current: ContextVar[Origin] = ContextVar("origin", default=Origin())  # noqa: B039 - it is frozen


def shorten_agent(text: str) -> str:
    """Return a readable user agent: products and versions on one line, without comments in parentheses."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    without = re.sub(r"\([^()]*\)", " ", printable)
    return " ".join(without.split())[:_LONGEST]
