"""Find the last run that pruned for the same set, so that a plan can say which choices changed since.

The same set is the one whose objects the run applied: a set has no name of its own where kubectl prunes by allowlist.
"""

from __future__ import annotations

from collections.abc import Iterable

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.objects.context import EarlierPrune
from applyviz.engine.requests.options import PruneMode
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, ObjectChange, Plan

_SEARCHED = (PruneMode.ALLOWLIST, PruneMode.APPLYSET)
_MOST_RUNS = 20
_APPLIED = (Operation.CREATE, Operation.UPDATE, Operation.UNCHANGED, Operation.REPLACE)


def _ref(row: ObjectChange) -> ObjectRef:
    return ObjectRef(GroupVersionKind(row.group, row.version, row.kind), row.namespace, row.name)


def find_earlier_prune(plan: Plan, documents: Iterable[ManifestDocument]) -> EarlierPrune | None:
    """Return the last applied run on the same cluster that pruned and applied an object of this set; None without."""
    if options_from_json(plan.options).prune.mode not in _SEARCHED:
        return None
    names = {(d.ref.gvk.group, d.ref.gvk.kind, d.ref.name) for d in documents}
    runs = ApplyRun.objects.filter(
        plan__target__cluster=plan.target.cluster,
        state=RunState.APPLIED,
        plan__options__prune__mode__in=[mode.value for mode in _SEARCHED],
    )
    for run in runs.select_related("plan__revision").order_by("-number")[:_MOST_RUNS]:
        if names & set(run.plan.changes.values_list("group", "kind", "name")):
            files = run.plan.revision.files.order_by("position").values_list("name", flat=True)
            applied = run.plan.changes.filter(operation__in=_APPLIED).order_by("position")
            objects = (_ref(row) for row in applied.only("plan_id", "group", "version", "kind", "namespace", "name"))
            return EarlierPrune(str(run.number), options_from_json(run.plan.options), tuple(files), tuple(objects))
    return None
