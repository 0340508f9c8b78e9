"""Group rows below their common path: a chain with one child is folded, a node with several rows is a section."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.objects.paths import FieldPath, PathElement


@dataclass(slots=True)
class PathNode:
    """A node of the tree of paths while sections are found."""

    children: dict[PathElement, PathNode] = field(default_factory=dict)
    reasons: list[tuple[int, FieldReason]] = field(default_factory=list)

    def count(self) -> int:
        """Return the number of rows here and below."""
        return len(self.reasons) + sum(c.count() for c in self.children.values())


def grow_tree(reasons: Iterable[tuple[int, FieldReason]]) -> PathNode:
    """Return the tree of the paths of reasons; each has its position in the change."""
    root = PathNode()
    for index, reason in reasons:
        node = root
        for element in reason.path:
            node = node.children.setdefault(element, PathNode())
        node.reasons.append((index, reason))
    return root


def walk_sections(
    node: PathNode, path: FieldPath
) -> Iterator[tuple[FieldPath, list[tuple[FieldPath, int, FieldReason]]]]:
    """Yield each section: the shared path and its rows with the path below it."""
    own: list[tuple[FieldPath, int, FieldReason]] = [((), index, reason) for index, reason in node.reasons]
    deeper: list[tuple[FieldPath, PathNode]] = []
    for element, child in node.children.items():
        if child.count() == 1:
            own.extend(_only_row(child, (element,)))
        else:
            deeper.append(((*path, element), child))
    if own:
        yield path, own
    for below, child in deeper:
        yield from walk_sections(child, below)


def _only_row(node: PathNode, path: FieldPath) -> list[tuple[FieldPath, int, FieldReason]]:
    while not node.reasons:
        element, node = next(iter(node.children.items()))
        path = (*path, element)
    return [(path, index, reason) for index, reason in node.reasons]
