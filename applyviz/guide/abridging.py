"""Leave out of an object what only the server filled in and what an apply does not change.

Examples name few fields, and a server adds many defaults: shown are the fields of the example, each with its value
after defaulting, and the defaults of what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, is_same_json
from applyviz.engine.planning.conflicts.manifest_paths import PathWalker, Steps
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.walk import list_leaves


def _walk(kind: KindSchema | None, obj: JSONObject) -> Iterator[tuple[FieldPath, Steps]]:
    """Yield the path of each leaf with the containers that lead to it."""
    walker = PathWalker(obj)
    for path in list_leaves(kind.root if kind else None, obj):
        steps = walker.list_steps(path)
        if len(steps) == len(path):
            yield path, steps


def _read(steps: Steps) -> JSONValue:
    container, step = steps[-1]
    value: JSONValue = container[step]
    return value


def _remove(steps: Steps) -> None:
    """Remove a leaf, and the maps that held nothing else."""
    for container, step in reversed(steps):
        if isinstance(step, int):
            return
        del container[step]
        if container:
            return


def abridge(
    after: JSONObject, *, known: Iterable[JSONObject], before: JSONObject | None, kind: KindSchema | None
) -> MutableObject:
    """Return an object without the leaves that no `known` object has and that `before` has with the same value.

    - `before` is the whole object before the write; None for a new one, whose defaults are all left out.
    """
    named = {path[:n] for obj in known for path, _steps in _walk(kind, obj) for n in range(1, len(path) + 1)}
    values = None if before is None else {path: _read(steps) for path, steps in _walk(kind, before)}
    kept: MutableObject = clone(dict(after))
    filled = [
        steps
        for path, steps in _walk(kind, kept)
        if path not in named and (values is None or (path in values and is_same_json(values[path], _read(steps))))
    ]
    for steps in filled:
        _remove(steps)
    return kept
