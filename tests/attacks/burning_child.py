"""A child that computes for ever, as a text does that some rule reads too slowly."""

from __future__ import annotations

import json
from typing import BinaryIO

from applyviz.sources.child import limit_self


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Take the limits that were given, and never answer."""
    asked = json.loads(source.readline())
    limit_self(asked["memory_bytes"], asked["cpu_seconds"])
    while asked:
        pass
