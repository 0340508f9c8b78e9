"""Explain a node port that moves from one port of a Service to another, so that clients keep it.

Rule: kube-apiserver allocates node ports. A port without one gets the node port of the live port with the same name; if
the Service type had no node ports before, it gets the one already allocated to its number. A manifest can also set the
node port on another port.
"""

from __future__ import annotations

from applyviz.engine.explain.reasons import FieldOperation, Reason, Stage
from applyviz.engine.explain.rows import Row
from applyviz.engine.explain.verdict import LeafExplanation, name_operation
from applyviz.engine.explain.versions import Column, ObjectVersions
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import canonical_json

_PORTS = ("f:spec", "f:ports")
_NODE_PORT = "f:nodePort"


class NodePorts:
    """The node ports of a Service, before and after: each number with the first two entries that have it."""

    def __init__(self, versions: ObjectVersions) -> None:
        self._versions = versions
        paths = [path for path in versions.rows if path[:2] == _PORTS and path[-1] == _NODE_PORT]
        self._live, self._after = _index(versions.live, paths), _index(versions.after, paths)

    def judge(self, path: FieldPath, row: Row) -> LeafExplanation | None:
        """Return where a node port goes, or where the server takes it from; None if it does not move."""
        if path[:2] != _PORTS or path[-1] != _NODE_PORT:
            return None
        after, live = row[0], row[1]
        operation = name_operation(live, after)
        if operation is FieldOperation.CLEARED:
            entry = _find_other(self._after, canonical_json(live), path)
            return LeafExplanation(operation, Reason.MOVED_TO, render_path(entry)) if entry else None
        if operation is not FieldOperation.SET or path in self._versions.manifest:
            return None
        entry = _find_other(self._live, canonical_json(after), path)
        if not entry or self._versions.after.get((*entry, _NODE_PORT)) == after:
            return None
        return LeafExplanation(FieldOperation.DEFAULTED, Reason.MOVED_FROM, render_path(entry), Stage.DEFAULTS)


def _index(column: Column, paths: list[FieldPath]) -> dict[str, list[FieldPath]]:
    found: dict[str, list[FieldPath]] = {}
    for path in (p for p in paths if p in column):
        entries = found.setdefault(canonical_json(column.get(path)), [])
        if len(entries) < 2:
            entries.append(path[:-1])
    return found


def _find_other(index: dict[str, list[FieldPath]], number: str, path: FieldPath) -> FieldPath:
    """Return another entry with the same node port, or () if there is none."""
    return next((entry for entry in index.get(number, ()) if entry != path[:-1]), ())
