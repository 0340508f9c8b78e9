"""Compare the plan of one object with what the recorded server did.

Compared are: the operation, the object after apply, the fields that the plan says will change or stay, the field owners
after apply, conflicts and refusals, and whether pods restart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import FieldOperation, FieldReason
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.known_names import REQUESTER, SERVER_WRITTEN
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.server_managed import drop_server_managed
from applyviz.engine.planning.simulation.dry_run_result import read_conflicts
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING, list_leaves

_BOOKKEEPING = frozenset(f"f:{name}" for name in SERVER_WRITTEN | {"deletionTimestamp"})
# The server allocates these values, so no plan can predict them.
_ALLOCATED = frozenset({"f:clusterIP", "f:clusterIPs", "f:nodePort", "f:healthCheckNodePort"})
# Who asks for a certificate; the server writes it into the request.
_REQUESTER = frozenset({("f:spec", f"f:{name}") for name in REQUESTER})
_UID_LABELS = frozenset({"f:controller-uid", "f:batch.kubernetes.io/controller-uid"})
_KEPT = frozenset({FieldOperation.KEPT, FieldOperation.NOT_REMOVED, FieldOperation.UNCHANGED})
_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet"})


class Truth(Struct, frozen=True):
    """The recorded outcome of one object: before and after (None: absent), the refusal, any deletion in between.

    - `is_cut`: it was deleted to be created again, and kubectl did not wait for that.
    - `is_half_migrated`: kubectl reported that it could not finish, so the intended owners are unknown.
    """

    before: JSONObject | None
    after: JSONObject | None
    refusal: Answer | None = None
    is_recreated: bool = False
    is_deleted: bool = False
    is_cut: bool = False
    is_half_migrated: bool = False


class PlanVerdict(Struct, frozen=True):
    """The difference between a plan and the truth ("" if none); fields covered, with and without caveats."""

    reason: str = ""
    expected: JSONValue = None
    got: JSONValue = None
    fields: int = 0
    caveats: int = 0


def judge(change: PlannedObject, truth: Truth, *, root: Node | None, status_is_apart: bool) -> PlanVerdict:
    """Compare the plan of one object with its recorded outcome."""
    reason, expected, got = _compare_outcome(change, truth)
    if reason or truth.refusal is not None:
        return PlanVerdict(reason, expected, got)
    if truth.is_deleted or truth.is_cut:
        return PlanVerdict()
    real = _Leaves(root, truth, change, status_is_apart)
    for compare in (_compare_after, _compare_fields, _compare_owners, _compare_restart):
        reason, expected, got = compare(change, truth, real)
        if reason:
            return PlanVerdict(reason, expected, got, real.count, len(real.unplanned))
    return PlanVerdict(fields=real.count, caveats=len(real.unplanned))


Found = tuple[str, JSONValue, JSONValue]
_SAME: Found = ("", None, None)


def _compare_outcome(change: PlannedObject, truth: Truth) -> Found:
    if truth.refusal is not None and read_conflicts(truth.refusal):
        expected = [list(c) for c in read_conflicts(truth.refusal)]
        planned = sorted({(c.manager, render_path(c.path) or c.message.rpartition(": ")[2]) for c in change.conflicts})
        got = [list(c) for c in planned]
        return ("other conflicts", expected, got) if expected != got else _SAME
    wanted = _name_operation(truth)
    if change.operation is wanted:
        return _SAME
    reason = change.error or change.certainty_reason
    text = truth.refusal.message if truth.refusal is not None else ""
    return f"operation: expected {wanted}, got {change.operation}", text, reason


def _name_operation(truth: Truth) -> Operation:
    if truth.refusal is not None:
        return Operation.ERROR
    if truth.is_deleted:
        return Operation.PRUNE
    if truth.is_recreated or truth.is_cut:
        return Operation.REPLACE
    if truth.before is None:
        return Operation.CREATE
    same = truth.after is not None and is_same_json(drop_server_managed(truth.before), drop_server_managed(truth.after))
    return Operation.UNCHANGED if same else Operation.UPDATE


class _Leaves:
    """The leaves of an object before and after, as recorded, and those of the plan's `after`."""

    def __init__(self, root: Node | None, truth: Truth, change: PlannedObject, status_is_apart: bool) -> None:
        self._root = root
        self._status_is_apart = status_is_apart
        self.before = self._list(truth.before)
        self.after = self._list(truth.after)
        self.planned = self._list(change.versions.after)
        self._is_request = (truth.after or {}).get("kind") == "CertificateSigningRequest"
        self._uid: str = get_at(truth.after, ("metadata", "uid"), "")
        # A value that only the server can choose may be missing; that is a caveat.
        new = None if truth.is_recreated else truth.before
        self.unplanned = {p for p, v in self.after.items() if p not in self.planned and self.is_chosen(p, v, new)}
        self.count = len({*self.before, *self.after, *self.planned})

    def _list(self, obj: JSONObject | None) -> dict[FieldPath, JSONValue]:
        found = {} if obj is None else list_leaves(self._root, obj)
        return {path: value for path, value in found.items() if not self._is_server_managed(path)}

    def _is_server_managed(self, path: FieldPath) -> bool:
        is_record = path[:1] == ("f:metadata",) and path[1:2] != () and path[1] in _BOOKKEEPING
        return is_record or (self._status_is_apart and path[:1] == ("f:status",))

    def is_chosen(self, path: FieldPath, value: JSONValue, before: JSONObject | None) -> bool:
        """Return whether only the server can choose the value: an allocated address or port, a new uid."""
        if any(element in _ALLOCATED for element in path) and not (path in self.before and path in self.planned):
            return True
        if self._is_request and path[:2] in _REQUESTER:
            return True
        if value is MISSING:
            return bool(_UID_LABELS.intersection(path))
        return before is None and bool(self._uid) and self._uid in json.dumps(value)

    def differ(self, path: FieldPath) -> bool:
        """Return whether a leaf differs between before and after."""
        return not _is_same(self.before.get(path, MISSING), self.after.get(path, MISSING))


def _is_same(left: JSONValue, right: JSONValue) -> bool:
    if left is MISSING or right is MISSING:
        return left is right
    return is_same_json(left, right)


def _show(leaves: Mapping[FieldPath, JSONValue], paths: set[FieldPath]) -> JSONValue:
    return {render_path(p): leaves[p] for p in sorted(paths) if p in leaves}


def _compare_after(change: PlannedObject, truth: Truth, real: _Leaves) -> Found:
    wrong = {
        path
        for path in {*real.after, *real.planned} - real.unplanned
        if not _is_same(real.after.get(path, MISSING), real.planned.get(path, MISSING))
        and not real.is_chosen(path, real.after.get(path, MISSING), truth.before)
    }
    if not wrong:
        return _SAME
    return (
        f"after: {render_path(min(wrong))} and {len(wrong) - 1} more",
        _show(real.after, wrong),
        _show(real.planned, wrong),
    )


def _compare_fields(change: PlannedObject, truth: Truth, real: _Leaves) -> Found:
    planned = {f.path: f for f in change.fields}
    moved = {p for p in {*real.before, *real.after} if real.differ(p)} - real.unplanned
    wrong = {p for p in moved if p not in planned or planned[p].operation not in CHANGING}
    for path, field in planned.items():
        if real._is_server_managed(path):
            continue
        if not _is_true(field, real, change):
            wrong.add(path)
    if not wrong:
        return _SAME
    shown = {render_path(p): str(planned[p].operation) if p in planned else "not reported" for p in sorted(wrong)}
    expected = {render_path(p): _describe(p, real) for p in sorted(wrong)}
    return f"fields: {render_path(min(wrong))} and {len(wrong) - 1} more", expected, shown


def _describe(path: FieldPath, real: _Leaves) -> str:
    if path not in real.before:
        return "set" if path in real.after else "never there"
    if path not in real.after:
        return "cleared"
    return "changed" if real.differ(path) else "unchanged"


def _is_true(field: FieldReason, real: _Leaves, change: PlannedObject) -> bool:
    """Return whether the plan's statement on one field is what happened to it."""
    before, after = field.path in real.before, field.path in real.after
    if field.operation in _KEPT:
        return not real.differ(field.path)
    if field.operation is FieldOperation.ALLOCATED:
        return any(path[: len(field.path)] == field.path for path in real.unplanned)
    if field.operation is FieldOperation.CLEARED:
        return before and (not after or field.path in real.unplanned)
    if field.operation is FieldOperation.SET:
        return after and not before
    if field.operation is FieldOperation.CHANGED:
        is_reordered = field.path in {f.path for f in change.fields if f.reason == "order"}
        return is_reordered or (before and after and real.differ(field.path))
    if field.operation is FieldOperation.DEFAULTED:
        manifest = list_leaves(real._root, change.versions.manifest or {})
        return after and real.differ(field.path) and manifest.get(field.path) is None
    return False  # the plan has a conflict, but nothing was refused


def _entries(obj: JSONObject | None) -> dict[str, JSONValue]:
    found: dict[str, JSONValue] = {}
    for entry in get_at(obj, ("metadata", "managedFields")) or ():
        if entry.get("subresource") == "status":
            continue
        name = " ".join(str(entry.get(k) or "") for k in ("manager", "operation", "subresource", "apiVersion"))
        found[name] = entry.get("fieldsV1")
    return found


def _compare_owners(change: PlannedObject, truth: Truth, real: _Leaves) -> Found:
    if truth.is_half_migrated:
        return _SAME
    expected, got = _entries(truth.after), _entries(change.versions.after)
    wrong = {n for n in {*expected, *got} if n not in expected or n not in got or not is_same_json(expected[n], got[n])}
    if not wrong:
        return _SAME
    left, right = ({n: e[n] for n in sorted(wrong) if n in e} for e in (expected, got))
    return f"owners: {', '.join(sorted(wrong))}", left, right


def _compare_restart(change: PlannedObject, truth: Truth, real: _Leaves) -> Found:
    if change.ref.gvk.group != "apps" or change.ref.gvk.kind not in _WORKLOADS or truth.before is None:
        return _SAME
    planned = any(h.kind is PODS_RESTART for h in change.risks)
    # A controller compares whole templates: the order of entries and sections that are kept empty count.
    is_changed = not is_same_json(*(get_at(obj, ("spec", "template"), None) for obj in (truth.before, truth.after)))
    pods = ("status", "desiredNumberScheduled") if change.ref.gvk.kind == "DaemonSet" else ("spec", "replicas")
    has_pods = get_at(truth.before, pods, 1) != 0 and not _keeps_pods(truth.after, get_at(truth.before, pods, 1))
    restarts = is_changed and has_pods
    return ("pods restart", restarts, planned) if restarts is not planned else _SAME


def _keeps_pods(obj: JSONObject | None, pods: JSONValue) -> bool:
    """Return whether no pod gets a new template: the object waits for deletions, is paused, or excludes all pods."""
    is_paused = get_at(obj, ("kind",)) == "Deployment" and get_at(obj, ("spec", "paused")) is True
    partition = get_at(obj, ("spec", "updateStrategy", "rollingUpdate", "partition"), 0)
    is_excluded = isinstance(pods, int) and isinstance(partition, int) and partition >= pods > 0
    return is_paused or is_excluded or get_at(obj, ("spec", "updateStrategy", "type")) == "OnDelete"
