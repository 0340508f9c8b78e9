"""The lists and mappings of an object with their schemas, which most rules read.

They are listed once for each object and shared by the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.schema.model import Node

_DEEP = frozenset({dict, list})


class Container(NamedTuple):
    """One list or mapping: its path, its value, and its schema (None if unknown)."""

    plain: PlainPath
    value: Any
    node: Node | None

    @property
    def is_below_list(self) -> bool:
        """Whether it is inside a list entry: indices of entries are not comparable between versions."""
        return int in map(type, self.plain)  # hot: rules ask every container


def list_containers(value: Any, node: Node | None) -> tuple[Container, ...]:
    """Return every mapping and list that is not empty, from the top down.

    - The caller reads the scalars, and nothing recurses: rules run over every object of a set.
    """
    found: list[Container] = []
    waiting = [Container((), value, node)]
    while waiting:
        container = waiting.pop()
        found.append(container)
        plain, value, node = container
        below: list[Container] = []
        if type(value) is dict or isinstance(value, Mapping):
            for name, entry in value.items():
                if entry and type(entry) in _DEEP:
                    below.append(Container((*plain, name), entry, node.child(name) if node is not None else None))
        else:
            items = node.items if node is not None else None
            below = [Container((*plain, n), e, items) for n, e in enumerate(value) if e and type(e) in _DEEP]
        waiting.extend(reversed(below))
    return tuple(found)
