"""Drift: compares a live object with the result of its last run; a pure calculation.

Only fields of the manifest are compared, with the value that the server returned at that time (*after*); fields of
other owners are not. Secret values are compared by their tags. Rule for pairing list entries: `schema.walk`.
"""

from __future__ import annotations

from msgspec import Struct

from applyviz.engine.objects.known_names import LAST_APPLIED_PATH, NAMING
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.model.plan import Versions
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING, list_leaves
from applyviz.workflow.plans.outcome_check import find_broken

_LEFT_OUT = NAMING | {LAST_APPLIED_PATH}


class Drifted(Struct, frozen=True):
    """One field that differs from what was applied; `MISSING` where there is no value."""

    path: str
    promised: JSONValue
    live: JSONValue

    def to_json(self) -> dict[str, JSONValue]:
        """Return the field for storage; a missing side is left out."""
        sides = {"promised": self.promised, "live": self.live}
        return {"path": self.path} | {name: value for name, value in sides.items() if value is not MISSING}


def _as_stored(path: FieldPath) -> FieldPath:
    """Return the path under which the server stores a field: `stringData` of a Secret becomes `data`."""
    return ("f:data", *path[1:]) if path[:1] == ("f:stringData",) else path


def _wanted(versions: Versions, root: Node | None) -> frozenset[FieldPath]:
    paths = list_leaves(root, versions.manifest or {})
    return frozenset(_as_stored(path) for path in paths if path not in _LEFT_OUT and path[:1] != ("f:status",))


def _touches(path: FieldPath, wanted: frozenset[FieldPath]) -> bool:
    return path in wanted or any(path[:length] in wanted for length in range(1, len(path)))


def find_drift(
    versions: Versions, live: JSONObject, *, root: Node | None = None, is_confirmed: bool = True
) -> tuple[Drifted, ...]:
    """Return the manifest fields whose live value differs from the applied one, in the order of the object.

    - `versions` and `live` are masked with one key, so that equal Secret values stay equal.
    - For an estimated result (`is_confirmed` False), values that the server added by defaulting are not drift.
    """
    promised = versions.after or versions.merged or versions.manifest
    if promised is None:
        return ()
    wanted = _wanted(versions, root)
    broken = find_broken(promised, live, root=root, is_confirmed=is_confirmed)
    return tuple(Drifted(render_path(one.path), one.before, one.after) for one in broken if _touches(one.path, wanted))
