"""Find the last runs of the same set, so that a plan which prunes can say what changed since.

A set has no name of its own where kubectl prunes by allowlist. A run is of the same set if it applied at least half of
the objects of the plan; where no run did, the newest one that applied any of them besides its Namespaces, which several
sets share. Reverts are no runs of a set: their files are made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from django.db.models import QuerySet

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.objects.context import EarlierRun
from applyviz.engine.requests.options import PruneMode
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, ObjectChange, Plan

_Name = tuple[str, str, str]
_SEARCHED = (PruneMode.ALLOWLIST, PruneMode.APPLYSET)
_PRUNING = tuple(mode.value for mode in _SEARCHED)
_MOST_RUNS = 20
_MOST_PROBED = 50
_APPLIED = (Operation.CREATE, Operation.UPDATE, Operation.UNCHANGED, Operation.REPLACE)
_NAMESPACE = ("", "Namespace")


def _list_runs(plan: Plan, names: Iterable[_Name]) -> QuerySet[ApplyRun]:
    """Return the runs on the cluster of a plan that applied one of some objects, the newest first."""
    kinds, probed = {kind for _group, kind, _name in names}, sorted({name for _group, _kind, name in names})
    probed = probed[:: -(-len(probed) // _MOST_PROBED) or 1]
    having = ObjectChange.objects.filter(name__in=probed, kind__in=kinds, operation__in=_APPLIED)
    runs = ApplyRun.objects.filter(
        plan__target__cluster=plan.target.cluster,
        plan__in=having.order_by().values("plan_id"),
        plan__options__action__isnull=True,
        plan__review__undoes__isnull=True,
        state=RunState.APPLIED,
    )
    return runs.select_related("plan__revision").order_by("-number")


def _list_applied(run: ApplyRun) -> QuerySet[ObjectChange]:
    return run.plan.changes.filter(operation__in=_APPLIED).order_by("position")


def _find_run(runs: QuerySet[ApplyRun], names: frozenset[_Name]) -> ApplyRun | None:
    """Return the newest run that applied at least half of the objects, or else the newest that applied any of them."""
    partial = None
    for run in runs[:_MOST_RUNS]:
        shared = names & set(_list_applied(run).values_list("group", "kind", "name"))
        if len(shared) * 2 >= len(names):
            return run
        partial = partial or (run if shared else None)
    return partial


def _describe(run: ApplyRun) -> EarlierRun:
    files = run.plan.revision.files.order_by("position").values_list("name", flat=True)
    return EarlierRun(str(run.number), options_from_json(run.plan.options), tuple(files), tuple(_list_objects(run)))


def _list_objects(run: ApplyRun) -> Iterator[ObjectRef]:
    for row in _list_applied(run).only("plan_id", "group", "version", "kind", "namespace", "name"):
        yield ObjectRef(GroupVersionKind(row.group, row.version, row.kind), row.namespace, row.name)


def find_earlier_run(plan: Plan, documents: Iterable[ManifestDocument]) -> EarlierRun | None:
    """Return the last run of the set of a plan that prunes, with the last of its runs that pruned; None without one."""
    if options_from_json(plan.options).prune.mode not in _SEARCHED:
        return None
    named = frozenset((d.ref.gvk.group, d.ref.gvk.kind, d.ref.name) for d in documents)
    names = frozenset(name for name in named if name[:2] != _NAMESPACE) or named
    runs = _list_runs(plan, names)
    last = _find_run(runs, names)
    if last is None:
        return None
    pruned = _find_run(runs.filter(plan__options__prune__mode__in=_PRUNING), names)
    return replace(_describe(last), pruned=_describe(pruned) if pruned not in (None, last) else None)
