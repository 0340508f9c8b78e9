"""Names as an English list, for the facts of sentences."""

from __future__ import annotations

from collections.abc import Iterable


def join_names(names: Iterable[str], most: int = 4) -> str:
    """Return names as `a, b and c`, each once; of more than `most` the first ones and the number of the others."""
    found = list(dict.fromkeys(names))
    if len(found) > most:
        found = [*found[: most - 1], f"{len(found) - most + 1} more"]
    first, _, last = ", ".join(found).rpartition(", ")
    return f"{first} and {last}" if first else last
